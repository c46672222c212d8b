"""Every failure on the way to the service is one sentence of a known kind."""

from collections.abc import Iterator

import httpx
import pytest

from app.client import ApiError, Client
from tests.app.service import URL, answering, api, refusal

DOWN = (
    f"The service at {URL} does not answer. Start it with `make serve`; this page goes on by "
    "itself when it is there."
)
SLOW = f"The service at {URL} gave no answer within 60 seconds; try again, or with fewer texts."


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The seconds that were waited for, in no time."""
    found: list[float] = []
    monkeypatch.setattr("app.client.time.sleep", found.append)
    yield found
    assert sum(found) <= 5


def failure(service: Client, key: str = "") -> ApiError:
    with pytest.raises(ApiError) as caught:
        service.models(key)
    assert str(caught.value) == caught.value.message
    return caught.value


def raising(error: Exception) -> Client:
    def handler(_: httpx.Request) -> httpx.Response:
        raise error

    return api(handler)


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (httpx.ConnectError(""), "down", DOWN),
        (httpx.ConnectTimeout(""), "down", DOWN),
        (httpx.ReadError(""), "down", DOWN),
        (httpx.RemoteProtocolError(""), "down", DOWN),
        (httpx.ReadTimeout(""), "busy", SLOW),
    ],
    ids=repr,
)
def test_a_service_that_is_not_there_is_down_and_one_that_takes_too_long_busy(
    error: Exception, kind: str, message: str
) -> None:
    found = failure(raising(error))
    assert (found.message, found.kind) == (message, kind)


def test_nothing_listens_at_a_closed_port() -> None:
    assert failure(Client("http://127.0.0.1:9")).kind == "down"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "refused"),
        (401, "key"),
        (404, "missing"),
        (408, "refused"),
        (413, "refused"),
        (429, "busy"),
        (500, "refused"),
        (503, "down"),
    ],
)
def test_a_refusal_is_the_services_own_sentence(status: int, kind: str) -> None:
    found = failure(answering(refusal(status, "model: there is none.", "word")))
    assert (found.message, found.kind, found.code) == ("Model: there is none.", kind, "word")


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_proxy_without_the_service_says_that_it_is_down(status: int) -> None:
    found = failure(answering(httpx.Response(status, html="<h1>Bad Gateway</h1>")))
    assert (found.message, found.kind) == (DOWN, "down")


@pytest.mark.parametrize("status", [200, 307, 404, 500])
@pytest.mark.parametrize(
    "content",
    [b"", b"<html>", b"[]", b"null", b"[" * 100_000, b"\xff", b'"error"', b'{"error": 3'],
    ids=range(8),
)
def test_what_is_no_answer_of_triads_is_said_to_be_none(status: int, content: bytes) -> None:
    found = failure(answering(httpx.Response(status, content=content)))
    assert f"an answer that this page cannot read (status {status})" in found.message


@pytest.mark.parametrize("error", [None, 3, "text", [], {}, {"message": 3}, {"message": ""}])
def test_a_refusal_of_another_shape_is_a_refusal(error: object) -> None:
    found = failure(answering(httpx.Response(400, json={"error": error})))
    assert "(status 400)" in found.message


def test_a_busy_service_is_asked_again_when_it_says(pauses: list[float]) -> None:
    busy = refusal(429, "busy.", **{"Retry-After": "2"})
    assert answering(busy, busy, httpx.Response(200, json={"data": []})).models() == []
    assert pauses == [2, 2]


@pytest.mark.parametrize(
    ("after", "waited"),
    [("0", [0, 0]), ("1", [1, 1]), ("4", [4]), ("6", []), ("soon", [1, 1]), ("-1", [1, 1])],
)
def test_a_service_that_stays_busy_is_left_alone_soon(
    after: str, waited: list[float], pauses: list[float]
) -> None:
    response = refusal(429, "busy.")
    response.headers["Retry-After"] = after
    assert failure(answering(response)).kind == "busy"
    assert pauses == waited


def test_the_key_is_sent_where_there_is_one() -> None:
    sent = []

    def handler(request: httpx.Request) -> httpx.Response:
        sent.append(request.headers.get("Authorization"))
        return httpx.Response(200, json={"data": []})

    service = api(handler)
    for key in ("", "  ", "secret", " secret\n"):
        service.models(key)
    assert sent == [None, None, "Bearer secret", "Bearer secret"]


@pytest.mark.parametrize("key", ["schlüssel", "a\nb", "a\0b", "🔑"])
def test_a_key_that_no_header_can_hold_is_not_sent(key: str) -> None:
    found = failure(raising(AssertionError("sent")), key)
    assert found.kind == "key"
    assert key not in found.message


def test_what_is_no_json_is_not_sent() -> None:
    with pytest.raises(ApiError, match="cannot be sent") as caught:
        raising(AssertionError("sent")).views("m", ["\ud800", "b"])
    assert caught.value.kind == "refused"


def test_a_name_too_long_for_an_address_is_no_encoder() -> None:
    with pytest.raises(ApiError, match="choose another") as caught:
        raising(AssertionError("sent")).training("a" * 70_000)
    assert caught.value.kind == "missing"


def test_no_training_record_and_no_results_are_none() -> None:
    assert answering(refusal(404, "none.", "no_training_record")).training("m") is None
    assert answering(refusal(404, "none.", "no_results")).results() is None


@pytest.mark.parametrize("code", ["model_not_found", "not_found"])
def test_an_encoder_that_is_gone_is_not_one_without_a_record(code: str) -> None:
    with pytest.raises(ApiError, match="Gone"):
        answering(refusal(404, "gone.", code)).training("m")


@pytest.mark.parametrize("url", ["", "127.0.0.1:3000", "ftp://triad.test"])
def test_an_address_that_is_none_is_refused_at_the_start(url: str) -> None:
    with pytest.raises(ValueError, match=r"give one like http://127\.0\.0\.1:3000"):
        Client(url)
