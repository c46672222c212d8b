"""BentoML's official client against the service."""

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
LONG = "word " * 1000


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[bentoml.SyncHTTPClient]:
    with bentoml.SyncHTTPClient(server.url) as client:
        yield client
        client._temp_dir.cleanup()  # which it leaves to the garbage collector, with a warning


@pytest.mark.parametrize(
    ("arguments", "model", "normalize"),
    [
        ({"model": "vicreg_modified-42"}, "vicreg_modified-42", True),
        ({"model": "vicreg_modified-42", "normalize": False}, "vicreg_modified-42", False),
        ({}, "vicreg-42", True),  # the first encoder, as none is named
    ],
)
def test_encode_gives_the_vectors_of_the_api(
    client: bentoml.SyncHTTPClient,
    server: Server,
    arguments: dict[str, object],
    model: str,
    normalize: bool,
) -> None:
    content = {"model": model, "input": TEXTS, "normalize": normalize}
    answer = server.ask(post("/v1/embeddings", content))
    found = client.encode(texts=TEXTS, **arguments)
    assert found.dtype == np.float32
    assert np.abs(found - np.array(answer.embeddings)).max() < 1e-5


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


@pytest.mark.parametrize(
    ("method", "texts"),
    [("encode", {"texts": [LONG]}), ("similarity", {"sources": ["a"], "targets": [LONG]})],
)
def test_both_methods_cut_long_texts_unless_they_are_to_refuse_them(
    client: bentoml.SyncHTTPClient, method: str, texts: dict[str, list[str]]
) -> None:
    assert getattr(client, method)(**texts).ndim == 2
    with pytest.raises(InvalidArgument, match=r"\[0\]: has \d+ tokens, special ones included"):
        getattr(client, method)(**texts, truncate=False)


@pytest.mark.verify
def test_it_gives_its_token_and_nothing_is_told_without(locked: Server) -> None:
    with bentoml.SyncHTTPClient(locked.url, token=KEY) as client:
        assert client.encode(texts=TEXTS).shape[0] == len(TEXTS)
        client._temp_dir.cleanup()
    assert locked.get("/schema.json").status == 401
    assert locked.post("/encode", {"texts": TEXTS}).status == 401
