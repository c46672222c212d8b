"""Tiny encoders, exported once a session, and served by ONNX Runtime; see tests/serve/served.py."""

from __future__ import annotations

import logging
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.version import folder_version
from serve.encoders.backends import choose
from serve.encoders.export import export
from serve.encoders.exported import Exported
from serve.encoders.registry import ServedEncoder
from tests.serve.fakes import Fake, served
from tests.serve.served import serving
from tests.tiny import change_json, write_bert, write_roberta

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.encoder.folder import Pooling
    from tests.serve.served import Api


class Tiny(NamedTuple):
    """An encoder of one layer; not to be written to."""

    folder: Path
    exported: Exported
    reference: SentenceEncoder
    served: ServedEncoder


def _tiny(folder: Path, place: Path, pooling: Pooling, backend: str = "onnxruntime-f32") -> Tiny:
    SentenceEncoder.load(folder, "cpu", pooling).save(folder)
    change_json(folder / "config.json", matryoshka_dimensions=[8, 16])
    logging.disable(logging.WARNING)  # torch's exporter about what is not installed
    exported = Exported.load(export(folder, place))
    logging.disable(logging.NOTSET)
    encoder = ServedEncoder(
        id=folder.name,
        version=folder_version(folder),
        folder=folder,
        created=1_700_000_000,
        record=None,
        exported=exported,
        tokenizer=exported.tokenizer(),
        backend=choose(exported, folder, backend, 1),
    )
    return Tiny(folder, exported, SentenceEncoder.load(folder, "cpu"), encoder)


@pytest.fixture(scope="session")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tiny encoders are exported to."""
    return tmp_path_factory.mktemp("exports")


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory, exports: Path) -> Tiny:
    """Mean pooling, no Normalize."""
    folder = write_bert(tmp_path_factory.mktemp("encoders") / "bert", num_hidden_layers=1)
    return _tiny(folder, exports, "mean")


@pytest.fixture(scope="session")
def roberta(tmp_path_factory: pytest.TempPathFactory, exports: Path) -> Tiny:
    """Max pooling, no Normalize."""
    folder = write_roberta(tmp_path_factory.mktemp("encoders") / "roberta", num_hidden_layers=1)
    return _tiny(folder, exports, "max")


@pytest.fixture(scope="session", params=["bert", pytest.param("roberta", marks=pytest.mark.verify)])
def each(request: pytest.FixtureRequest) -> Tiny:
    """Each of the two in turn."""
    tiny: Tiny = request.getfixturevalue(request.param)
    return tiny


@pytest.fixture(scope="session", params=["bert", "roberta"])
def reader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """Each of the two in turn, without its graph, which takes seconds: for its tokenizer."""
    folder = tmp_path_factory.mktemp("readers") / request.param
    (write_bert if request.param == "bert" else write_roberta)(folder, num_hidden_layers=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("serve.encoders.export._write_graph", lambda *_: None)
        return _tiny(folder, tmp_path_factory.mktemp("read"), "mean", "torch-f32")


@pytest.fixture(scope="session")
def unit(bert: Tiny) -> ServedEncoder:
    """The same as `bert`, with a Normalize module."""
    description = replace(bert.exported.description, normalize=True)
    exported = Exported(bert.exported.folder, description)
    return replace(bert.served, id="unit", exported=exported)


@pytest.fixture(scope="session")
def real(bert: Tiny, unit: ServedEncoder) -> Iterator[Api]:
    """The API over the tiny encoders `bert` and `unit`."""
    with serving(bert.served, unit) as api:
        yield api


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def api(fake: Fake) -> Iterator[Api]:
    """The API over one fake encoder of that name."""
    with serving(served(fake)) as api:
        yield api


@pytest.fixture
def encoder(bert: Tiny, tmp_path: Path) -> Path:
    """An encoder that a test may change."""
    return Path(shutil.copytree(bert.folder, tmp_path / "encoder"))
