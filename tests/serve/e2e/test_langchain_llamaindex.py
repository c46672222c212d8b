"""The two frameworks that most people call an embedding service from."""

from __future__ import annotations

import asyncio
import warnings
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pytest
from pydantic import SecretStr

from pipeline.encoder.vectors import Embeddings, cosines

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
def expected(server: Server) -> Embeddings:
    """One by one, as batches differ in the last bits."""
    asked = [{"model": "vicreg-42", "input": text} for text in TEXTS]
    rows = [server.post("/v1/embeddings", one).embeddings[0] for one in asked]
    return np.array(rows, np.float32)


@pytest.fixture(scope="module")
def run() -> Iterator[asyncio.Runner]:
    """One loop, as an asynchronous client wants it."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def clients(server: Server, run: asyncio.Runner) -> Iterator[tuple[Any, Any]]:
    """LangChain's and LlamaIndex'; neither closes its own connections."""
    with httpx.Client() as client:
        async_client = httpx.AsyncClient()
        yield (
            OpenAIEmbeddings(
                model="vicreg-42",
                base_url=f"{server.url}/v1",
                api_key=SecretStr("none"),
                check_embedding_ctx_length=False,
                http_client=client,
                http_async_client=async_client,
            ),
            OpenAILikeEmbedding(
                model_name="vicreg-42",
                api_base=f"{server.url}/v1",
                api_key="none",
                embed_batch_size=3,
                http_client=client,
                async_http_client=async_client,
            ),
        )
        run.run(async_client.aclose())


def assert_all_give(expected: Embeddings, *answers: list[list[float]]) -> None:
    for found in answers:
        assert cosines(np.array(found, np.float32), expected).min() > SAME


def test_langchain_embeds_queries_and_documents(
    clients: tuple[Any, Any], run: asyncio.Runner, expected: Embeddings
) -> None:
    langchain, _ = clients
    assert_all_give(
        expected,
        [langchain.embed_query(text) for text in TEXTS],
        langchain.embed_documents(TEXTS),
        run.run(langchain.aembed_documents(TEXTS)),
    )


def test_llama_index_embeds_queries_and_batches_of_texts(
    clients: tuple[Any, Any], run: asyncio.Runner, expected: Embeddings
) -> None:
    _, llama_index = clients
    assert_all_give(
        expected,
        [llama_index.get_query_embedding(text) for text in TEXTS],
        llama_index.get_text_embedding_batch(TEXTS),
        run.run(llama_index.aget_text_embedding_batch(TEXTS)),
    )
