"""Who may call, from which pages, below which path: API keys, CORS, proxies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.serve.api.test_errors import ASKED, GETS
from tests.serve.fakes import Fake, served
from tests.serve.served import Api, on_loop, refusal, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

KEYS = (b"first-key", b"second-key", "schlüssel".encode())
OPEN = [path for path in GETS if not path.startswith("/v1/")]
CLOSED = [
    *("/v1/models", "/v1/models/fake", "/v1/models/fake/training"),
    *("/v1/objectives", "/v1/results", "/schema.json"),
]
EMBEDDINGS = ASKED["/v1/embeddings"]


@pytest.fixture
def locked(fake: Fake) -> Iterator[Api]:
    with serving(served(fake), keys=KEYS) as api:
        yield api


class TestKeys:
    @pytest.mark.parametrize("key", KEYS)
    @pytest.mark.parametrize("scheme", [b"bearer ", b"BEARER ", b"Bearer "])
    def test_each_key_opens_and_the_scheme_has_no_case(
        self, locked: Api, scheme: bytes, key: bytes
    ) -> None:
        headers = {"Authorization": scheme + key}
        assert locked.post("/v1/embeddings", EMBEDDINGS, headers).status_code == 200
        assert locked.get("/v1/models", headers=headers).status_code == 200

    @pytest.mark.parametrize(
        "given",
        [
            b"Bearer",
            b"Bearer ",
            b"Bearer first-ke",
            b"Bearer first-key2",
            b"Bearer FIRST-KEY",
            b"Bearer first-key, second-key",
            b"Basic first-key",
            b"first-key",
            b"Bearerfirst-key",
            b"Bearer \xff\xfe",
            b"x" * 100_000,
        ],
    )
    def test_what_is_no_key_does_not(self, locked: Api, given: bytes) -> None:
        response = locked.post("/v1/embeddings", EMBEDDINGS, {"Authorization": given})
        error = refusal(response, 401)
        assert (error["type"], error["code"]) == ("authentication_error", "invalid_api_key")
        assert response.headers["WWW-Authenticate"] == "Bearer"
        assert error["message"] == (
            "the API key is not known here: send the header Authorization: Bearer KEY."
        )

    @pytest.mark.parametrize("path", CLOSED)
    def test_nothing_about_encoders_is_told_without_a_key(self, locked: Api, path: str) -> None:
        assert "is missing" in refusal(locked.get(path), 401)["message"]

    @pytest.mark.parametrize("path", [*ASKED, "/encode", "/similarity"])
    def test_nothing_is_computed_or_read_without_a_key(
        self, locked: Api, fake: Fake, path: str
    ) -> None:
        refusal(locked.post(path, ASKED.get(path, {"texts": ["a"]})), 401)
        refusal(locked.post(path, b" " * 200_000), 401)
        assert not fake.batches

    @pytest.mark.parametrize("path", OPEN)
    def test_health_metrics_and_documentation_are_open(self, locked: Api, path: str) -> None:
        assert locked.get(path).status_code in {200, 307}

    def test_where_there_are_none_any_is_taken(self, api: Api) -> None:
        headers = {"Authorization": "Bearer any"}
        assert api.post("/v1/embeddings", EMBEDDINGS, headers).status_code == 200

    @pytest.mark.parametrize("prefix", ["", "/triad"])
    def test_no_spelling_of_a_path_goes_around_them(self, fake: Fake, prefix: str) -> None:
        with serving(served(fake), keys=KEYS, path_prefix=prefix) as api:
            for path in ("/v1/models", "/v1//models", "//v1/models", "/%761/models", "/V1/models"):
                for before in {"", prefix, prefix * 2}:
                    assert api.get(before + path).status_code in {401, 404}

    @pytest.mark.parametrize("root", ["/triad", "/v1"])
    @on_loop
    async def test_nor_does_a_server_that_is_told_the_proxys_prefix(
        self, locked: Api, root: str
    ) -> None:
        """As uvicorn does with --root-path: the prefix is in the path and beside it."""
        async with locked.session(root_path=root) as session:
            for key, status in (("Bearer first-key", 200), ("", 401)):
                asked = session.get(f"{root}/v1/models", headers={"Authorization": key})
                assert (await asked).status_code == status


ORIGIN = "https://example.org"
# As OpenAI's JavaScript client has them.
WANTED = "authorization, content-type, x-request-id, x-stainless-lang, x-stainless-retry-count"


class TestCors:
    @pytest.fixture
    def shared(self, fake: Fake) -> Iterator[Api]:
        with serving(served(fake), keys=KEYS, cors_origins=(ORIGIN,)) as api:
            yield api

    def preflight(self, api: Api, origin: str) -> httpx.Response:
        asked = {
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": WANTED,
        }
        return api.call("OPTIONS", "/v1/embeddings", headers=asked)

    def test_it_is_off_by_default(self, api: Api) -> None:
        response = api.post("/v1/embeddings", EMBEDDINGS, {"Origin": ORIGIN})
        assert not [name for name in response.headers if name.startswith("access-control")]
        refusal(self.preflight(api, ORIGIN), 405)

    def test_a_preflight_needs_no_key_and_allows_what_the_api_takes(self, shared: Api) -> None:
        response = self.preflight(shared, ORIGIN)
        assert response.status_code == 200
        assert response.headers["Access-Control-Allow-Origin"] == ORIGIN
        assert {"GET", "POST"} <= set(response.headers["Access-Control-Allow-Methods"].split(", "))
        assert response.headers["Access-Control-Allow-Headers"] == WANTED

    def test_another_origin_is_not_allowed(self, shared: Api) -> None:
        asked = shared.get("/livez", headers={"Origin": "https://a.org"})
        for response in (asked, self.preflight(shared, "https://a.org")):
            assert "Access-Control-Allow-Origin" not in response.headers

    @pytest.mark.parametrize(
        ("path", "body", "key", "status"),
        [
            ("/v1/embeddings", EMBEDDINGS, "first-key", 200),
            ("/v1/embeddings", {}, "first-key", 400),
            ("/v1/embeddings", EMBEDDINGS, "wrong", 401),
            ("/v1/nothing", {}, "first-key", 404),
            ("/v1/models", {}, "first-key", 405),
            ("/v1/embeddings", {"input": " " * 200_000}, "first-key", 413),
        ],
    )
    def test_pages_may_read_answers_and_errors_alike(
        self, shared: Api, path: str, body: object, key: str, status: int
    ) -> None:
        headers = {"Origin": ORIGIN, "Authorization": f"Bearer {key}"}
        response = shared.post(path, body, headers)
        assert response.status_code == status
        assert response.headers["Access-Control-Allow-Origin"] == ORIGIN
        shown = response.headers["Access-Control-Expose-Headers"].split(", ")
        assert {"Retry-After", "X-Request-Id", "X-Truncated"} <= set(shown)
        assert "Access-Control-Allow-Credentials" not in response.headers


class TestPrefix:
    """Below a path prefix, the proxy may take it off or leave it on."""

    @pytest.fixture
    def below(self, fake: Fake) -> Iterator[Api]:
        with serving(served(fake), path_prefix="/triad") as api:
            yield api

    @pytest.mark.parametrize("before", ["", "/triad"])
    def test_every_route_answers_with_it_and_without(self, below: Api, before: str) -> None:
        for path in ASKED:
            assert below.post(before + path, ASKED[path]).status_code == 200
        for path in ("/v1/models", "/livez", "/readyz", "/metrics", "/openapi.json", "/docs"):
            assert below.get(before + path).status_code == 200
        assert below.get(f"{before}/docs/assets/swagger-ui.css").status_code == 200
        # It is counted by its path without the prefix.
        assert below.count("triad_requests_total", route="/v1/models", status="200") == 1

    def test_a_path_that_only_begins_like_it_is_another(self, below: Api) -> None:
        refusal(below.get("/triadic/livez"), 404)
        refusal(below.get("/triad/triad/livez"), 404)

    def test_the_document_names_it(self, below: Api, api: Api) -> None:
        assert below.get("/openapi.json").json()["servers"] == [{"url": "/triad"}]
        assert api.get("/openapi.json").json()["servers"] == [{"url": "."}]
