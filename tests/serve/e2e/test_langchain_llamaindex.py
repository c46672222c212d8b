"""The two frameworks that most people call an embedding service from."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
import numpy as np
import pytest
from pydantic import SecretStr

with warnings.catch_warnings():
    # Their own use of what pydantic and others have deprecated is not ours to mend.
    warnings.simplefilter("ignore")
    from langchain_openai import OpenAIEmbeddings
    from llama_index.embeddings.openai_like import (  # type: ignore[import-untyped]
        OpenAILikeEmbedding,
    )

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.serve.e2e.process import Server

TEXTS = ["A man is playing a guitar.", "WHY NOT?!", "Die Straße führt über den Fluss.", "🎻"]
SAME = 0.99999


@pytest.fixture(scope="module")
def expected(server: Server) -> list[list[float]]:
    """One by one, as batches differ in the last bits."""
    return [
        server.post("/v1/embeddings", {"model": "vicreg-42", "input": text}).embeddings[0]
        for text in TEXTS
    ]


class Clients(NamedTuple):
    """For both, as neither closes its own."""

    http_client: httpx.Client
    http_async_client: httpx.AsyncClient


Run = Callable[[Coroutine[Any, Any, list[list[float]]]], list[list[float]]]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Runs coroutines on one loop, as an asynchronous client wants it."""
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture(scope="module")
def clients(run: Callable[..., Any]) -> Iterator[Clients]:
    with httpx.Client() as http_client:
        clients = Clients(http_client, httpx.AsyncClient())
        yield clients
        run(clients.http_async_client.aclose())


@pytest.fixture(scope="module")
def langchain(server: Server, clients: Clients) -> OpenAIEmbeddings:
    return OpenAIEmbeddings(
        model="vicreg-42",
        base_url=f"{server.url}/v1",
        api_key=SecretStr("none"),
        check_embedding_ctx_length=False,
        http_client=clients.http_client,
        http_async_client=clients.http_async_client,
    )


@pytest.fixture(scope="module")
def llama_index(server: Server, clients: Clients) -> OpenAILikeEmbedding:
    return OpenAILikeEmbedding(
        model_name="vicreg-42",
        api_base=f"{server.url}/v1",
        api_key="none",
        embed_batch_size=3,
        http_client=clients.http_client,
        async_http_client=clients.http_async_client,
    )


def agree(found: list[list[float]], expected: list[list[float]]) -> bool:
    first, second = np.array(found), np.array(expected)
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return bool(((first * second).sum(axis=1) / norms > SAME).all())


def test_langchain_embeds_a_query(langchain: OpenAIEmbeddings, expected: list[list[float]]) -> None:
    assert agree([langchain.embed_query(text) for text in TEXTS], expected)


def test_langchain_embeds_documents(
    langchain: OpenAIEmbeddings, expected: list[list[float]]
) -> None:
    assert agree(langchain.embed_documents(TEXTS), expected)


def test_langchain_embeds_asynchronously(
    langchain: OpenAIEmbeddings, run: Run, expected: list[list[float]]
) -> None:
    assert agree(run(langchain.aembed_documents(TEXTS)), expected)


def test_llama_index_embeds_a_query(
    llama_index: OpenAILikeEmbedding, expected: list[list[float]]
) -> None:
    assert agree([llama_index.get_query_embedding(text) for text in TEXTS], expected)


def test_llama_index_embeds_texts_in_batches(
    llama_index: OpenAILikeEmbedding, expected: list[list[float]]
) -> None:
    assert agree(llama_index.get_text_embedding_batch(TEXTS), expected)


def test_llama_index_embeds_asynchronously(
    llama_index: OpenAILikeEmbedding, run: Run, expected: list[list[float]]
) -> None:
    assert agree(run(llama_index.aget_text_embedding_batch(TEXTS)), expected)
