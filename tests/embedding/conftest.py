"""An encoder that costs nothing, in the place of the one in the folder."""

import pytest

from pipeline.embedding.encoding import Encoding
from tests.embedding.lab import FakeEncoder


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeEncoder:
    encoder = FakeEncoder()
    monkeypatch.setattr(Encoding, "load", lambda settings: encoder)
    return encoder
