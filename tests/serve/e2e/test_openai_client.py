"""OpenAI's official client against the service: it must not notice the difference."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np
import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.vectors import Embeddings, cosines
from pipeline.encoder.version import folder_version
from tests.serve.e2e.conftest import KEY
from tests.serve.e2e.store import WIDE, long_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openai.types import CreateEmbeddingResponse

    from tests.serve.e2e.process import Server
    from tests.serve.e2e.store import Store

TEXTS = ["A man is playing a guitar.", "WHY NOT?!", "Die Straße führt über den Fluss.", "🎻"]
# How nearly a batch of other texts gives the same vector; on CPUs with bfloat16 not more nearly.
SAME = 0.9999


def vectors(answer: CreateEmbeddingResponse) -> Embeddings:
    return np.array([item.embedding for item in answer.data], np.float32)


def ask_at_once(
    server: Server, model: str, inputs: Sequence[str | list[str]], *, retries: int = 0
) -> tuple[list[CreateEmbeddingResponse], list[BaseException]]:
    """The answers and the errors of many requests."""

    async def ask() -> list[CreateEmbeddingResponse | BaseException]:
        async with AsyncOpenAI(
            base_url=f"{server.url}/v1", api_key=KEY, max_retries=retries
        ) as client:
            calls = [client.embeddings.create(model=model, input=one) for one in inputs]
            return await asyncio.gather(*calls, return_exceptions=True)

    found = asyncio.run(ask())
    errors = [one for one in found if isinstance(one, BaseException)]
    return [one for one in found if not isinstance(one, BaseException)], errors


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_texts_give_the_encoders_own_vectors(client: OpenAI, store: Store) -> None:
    answer = client.embeddings.create(model="vicreg-42", input=TEXTS)
    expected = SentenceEncoder.load(store.small, "cpu").encode(TEXTS)
    assert cosines(vectors(answer), expected).min() > SAME


def test_the_clients_default_of_base64_gives_the_numbers_of_float(client: OpenAI) -> None:
    default = client.embeddings.create(model="vicreg-42", input=TEXTS)
    plain = client.embeddings.create(model="vicreg-42", input=TEXTS, encoding_format="float")
    np.testing.assert_array_equal(vectors(default), vectors(plain))


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
    assert one.to_dict()["version"] == folder_version(store.small)
    assert one.owned_by == "triad"


def test_many_concurrent_requests_get_each_its_own_vectors(client: OpenAI, server: Server) -> None:
    words = [f"the number {number}" for number in range(150)]
    expected = vectors(client.embeddings.create(model="vicreg-42", input=words))
    answers, errors = ask_at_once(server, "vicreg-42", words)
    assert not errors
    found = np.concatenate([vectors(answer) for answer in answers])
    assert cosines(found, expected).min() > SAME


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
    answers, errors = ask_at_once(locked, WIDE, [long_texts(32, 100 * n) for n in range(8)])
    assert answers
    assert errors
    for error in errors:
        assert isinstance(error, openai.RateLimitError)
        assert int(error.response.headers["Retry-After"]) >= 1


@pytest.mark.verify
def test_the_client_retries_until_there_is_room(locked: Server) -> None:
    inputs = [long_texts(32, 100 * n) for n in range(3)]
    answers, errors = ask_at_once(locked, WIDE, inputs, retries=20)
    assert not errors
    assert [len(answer.data) for answer in answers] == [32, 32, 32]
