"""BentoML's official client against the service, with an API key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bentoml
import numpy as np
import pytest
from bentoml.exceptions import InvalidArgument, NotFound

from tests.serve.e2e.conftest import KEY
from tests.serve.e2e.wire import post

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.serve.e2e.process import Server

# BentoML's own use of what others have deprecated is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
TEXTS = ["A man is playing a guitar.", "WHY NOT?!", "🎻"]


@pytest.fixture(scope="module")
def client(locked: Server) -> Iterator[bentoml.SyncHTTPClient]:
    with bentoml.SyncHTTPClient(locked.url, token=KEY) as client:
        yield client
        client._temp_dir.cleanup()  # which it leaves to the garbage collector, with a warning


def embedded(server: Server, model: str, *, normalize: bool) -> np.ndarray:
    """What the API's own route gives."""
    content = {"model": model, "input": TEXTS, "normalize": normalize}
    asked = post("/v1/embeddings", content, f"Authorization: Bearer {KEY}")
    return np.array(server.ask(asked).embeddings, np.float32)


@pytest.mark.parametrize("normalize", [True, False])
def test_encode_gives_the_vectors_of_the_api(
    client: bentoml.SyncHTTPClient, locked: Server, normalize: bool
) -> None:
    found = client.encode(texts=TEXTS, model="vicreg_modified-42", normalize=normalize)
    assert (found.dtype, found.shape) == (np.float32, (3, 256))
    expected = embedded(locked, "vicreg_modified-42", normalize=normalize)
    assert np.abs(found - expected).max() < 1e-5


def test_the_first_encoder_is_taken_if_none_is_named(
    client: bentoml.SyncHTTPClient, locked: Server
) -> None:
    expected = embedded(locked, "vicreg-42", normalize=True)
    assert np.abs(client.encode(texts=TEXTS) - expected).max() < 1e-5


def test_similarity_compares_pairs_and_all_with_all(client: bentoml.SyncHTTPClient) -> None:
    unit = client.encode(texts=TEXTS)
    pairs = client.similarity(pairs=[TEXTS[:2], TEXTS[1:]])
    assert np.abs(pairs - [unit[0] @ unit[1], unit[1] @ unit[2]]).max() < 1e-5
    matrix = client.similarity(sources=TEXTS, targets=TEXTS[:2], model="vicreg-42")
    assert np.abs(matrix - unit @ unit[:2].T).max() < 1e-5


def test_errors_are_the_sentences_of_the_api(client: bentoml.SyncHTTPClient) -> None:
    with pytest.raises(InvalidArgument, match=r"texts\[1\]: the text is empty"):
        client.encode(texts=["a", ""])
    with pytest.raises(NotFound, match="did you mean 'vicreg-42'"):
        client.encode(texts=TEXTS, model="vicreg-24")
    with pytest.raises(InvalidArgument, match="give either pairs, or both sources and targets"):
        client.similarity(sources=TEXTS)


def test_nothing_is_told_or_computed_without_a_key(locked: Server) -> None:
    assert locked.get("/schema.json").status == 401
    assert locked.post("/encode", {"texts": TEXTS}).status == 401
