"""OpenAI's official client against the service: it must not notice the difference."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np
import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from pipeline.encoder.encoder import SentenceEncoder
from tests.serve.e2e.conftest import KEY
from tests.serve.e2e.store import WIDE, long_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openai.types import CreateEmbeddingResponse

    from tests.serve.e2e.process import Server
    from tests.serve.e2e.store import Store

TEXTS = ["A man is playing a guitar.", "WHY NOT?!", "Die Straße führt über den Fluss.", "🎻"]
# How nearly a batch of other texts gives the same vector; on CPUs with bfloat16 not more nearly.
SAME = 0.9999


def cosine(one: list[float], other: list[float]) -> float:
    first, second = np.array(one), np.array(other)
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


def vectors(answer: CreateEmbeddingResponse) -> list[list[float]]:
    return [item.embedding for item in answer.data]


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_one_text_gives_the_encoders_own_vector(client: OpenAI, store: Store) -> None:
    answer = client.embeddings.create(model="vicreg-42", input=TEXTS[0])
    expected = SentenceEncoder.load(store.small.folder, "cpu").encode([TEXTS[0]])[0].tolist()
    assert cosine(answer.data[0].embedding, expected) > SAME


def test_the_clients_default_of_base64_gives_the_numbers_of_float(client: OpenAI) -> None:
    default = client.embeddings.create(model="vicreg-42", input=TEXTS)
    plain = client.embeddings.create(model="vicreg-42", input=TEXTS, encoding_format="float")
    np.testing.assert_array_equal(
        np.array(vectors(default), np.float32), np.array(vectors(plain), np.float32)
    )


def test_an_unknown_model_is_not_found_error(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="did you mean 'vicreg-42'") as caught:
        client.embeddings.create(model="vicreg-24", input="no")
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")


@pytest.mark.parametrize("bad", ["", [], [" "], [[]], [[10**9]], [-1]])
def test_bad_input_is_bad_request_error(client: OpenAI, bad: list[str]) -> None:
    with pytest.raises(openai.BadRequestError, match=r"input") as caught:
        client.embeddings.create(model="vicreg-42", input=bad)
    assert caught.value.param == "input"


def test_models_are_listed_and_retrieved(client: OpenAI, store: Store) -> None:
    listed = client.models.list().data
    assert [model.id for model in listed] == ["vicreg-42", WIDE]
    one = client.models.retrieve("vicreg-42")
    assert one == listed[0]
    assert one.to_dict()["version"] == store.small.version
    assert one.owned_by == "triad"


def test_many_concurrent_requests_get_each_its_own_vectors(client: OpenAI, server: Server) -> None:
    words = [f"the number {number}" for number in range(150)]
    expected = vectors(client.embeddings.create(model="vicreg-42", input=words))

    async def all_at_once() -> list[CreateEmbeddingResponse]:
        async with AsyncOpenAI(
            base_url=f"{server.url}/v1", api_key="none", max_retries=0
        ) as several:
            calls = [several.embeddings.create(model="vicreg-42", input=word) for word in words]
            return await asyncio.gather(*calls)

    for answer, one in zip(asyncio.run(all_at_once()), expected, strict=True):
        assert cosine(answer.data[0].embedding, one) > SAME


@pytest.mark.verify
def test_a_bad_key_is_authentication_error(locked: Server) -> None:
    with (
        OpenAI(base_url=f"{locked.url}/v1", api_key="wrong", max_retries=0) as client,
        pytest.raises(openai.AuthenticationError, match="API key") as caught,
    ):
        client.embeddings.create(model=WIDE, input="no")
    assert caught.value.code == "invalid_api_key"


@pytest.mark.verify
def test_a_full_queue_is_rate_limit_error_and_all_others_are_answered(locked: Server) -> None:
    async def all_at_once() -> list[CreateEmbeddingResponse | BaseException]:
        async with AsyncOpenAI(base_url=f"{locked.url}/v1", api_key=KEY, max_retries=0) as client:
            calls = [
                client.embeddings.create(model=WIDE, input=long_texts(32, 100 * number))
                for number in range(8)
            ]
            return await asyncio.gather(*calls, return_exceptions=True)

    answers = asyncio.run(all_at_once())
    refused = [answer for answer in answers if isinstance(answer, BaseException)]
    assert 0 < len(refused) < len(answers)
    for error in refused:
        assert isinstance(error, openai.RateLimitError)
        assert int(error.response.headers["Retry-After"]) >= 1


@pytest.mark.verify
def test_the_client_retries_until_there_is_room(locked: Server) -> None:
    async def all_at_once() -> list[CreateEmbeddingResponse]:
        async with AsyncOpenAI(base_url=f"{locked.url}/v1", api_key=KEY, max_retries=20) as client:
            calls = [
                client.embeddings.create(model=WIDE, input=long_texts(32, 100 * number))
                for number in range(3)
            ]
            return await asyncio.gather(*calls)

    assert [len(answer.data) for answer in asyncio.run(all_at_once())] == [32, 32, 32]
