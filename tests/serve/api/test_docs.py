"""Health, documentation, and the OpenAPI document, which says what the routes really answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import jsonschema  # type: ignore[import-untyped]
import pytest

from tests.serve.api.test_errors import ASKED, GETS
from tests.serve.api.test_models import Site
from tests.serve.fakes import Fake, served, words
from tests.serve.served import PARAMS, Api, refusal, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx

    from tests.serve.conftest import Tiny


def assert_described(api: Api, method: str, path: str, response: httpx.Response) -> None:
    """That an answer is as the document says; all refusals have the same schema."""
    document = api.get("/openapi.json").json()
    answers = document["paths"][path][method]["responses"]
    answer = answers["200" if response.status_code == 200 else "default"]
    schema = answer["content"]["application/json"]["schema"]
    validate(response.json(), schema, document)


def validate(content: object, schema: dict[str, Any], document: dict[str, Any]) -> None:
    whole = schema | {"components": document["components"]}
    jsonschema.Draft202012Validator(whole).validate(content)


class TestDocument:
    def test_it_is_valid_json_schema_throughout(self, api: Api) -> None:
        document = api.get("/openapi.json").json()
        assert document["openapi"] == "3.1.0"
        for schema in document["components"]["schemas"].values():
            jsonschema.Draft202012Validator.check_schema(schema)

    def test_it_lists_every_route_below_v1(self, api: Api) -> None:
        paths = set(api.get("/openapi.json").json()["paths"])
        routes = {getattr(route, "path", "") for route in api.app.routes}
        assert paths == {path for path in routes if path.startswith("/v1/")}

    def test_it_tells_the_limits_in_force(self, api: Api) -> None:
        told = api.get("/openapi.json").json()["info"]["description"]
        for number in (PARAMS.limits.items, PARAMS.limits.tokens, PARAMS.limits.body_bytes):
            assert str(number) in told

    def test_it_says_where_a_key_is_wanted(self, api: Api) -> None:
        locked = Api(api.engine, [b"key"]).get("/openapi.json").json()
        assert locked["components"]["securitySchemes"] == {
            "key": {"type": "http", "scheme": "bearer"}
        }
        for path in locked["paths"].values():
            assert all(operation["security"] == [{"key": []}] for operation in path.values())
        assert "securitySchemes" not in api.get("/openapi.json").json()["components"]


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        *ASKED.items(),
        ("/v1/embeddings", {"model": "fake", "input": [[5], [6]], "encoding_format": "base64"}),
        ("/v1/embeddings", {"model": "fake", "input": words(*range(3, 50)), "dimensions": 4}),
        ("/v1/similarity", {"models": ["fake"], "sources": ["a", "b"], "targets": ["c"]}),
        ("/v1/search", {"model": "fake", "query": "a", "documents": ["b"] * 20, "top_k": 3}),
        ("/v1/tokenize", {"model": "fake", "input": ["a", words(*range(3, 50))]}),
    ],
)
def test_a_posts_request_and_answer_are_as_the_document_says(
    api: Api, path: str, fields: dict[str, Any]
) -> None:
    document = api.get("/openapi.json").json()
    request = document["paths"][path]["post"]["requestBody"]
    validate(fields, request["content"]["application/json"]["schema"], document)
    for body, status in ((fields, 200), (b"{", 400)):
        response = api.post(path, body)
        assert response.status_code == status
        assert_described(api, "post", path, response)


def test_a_gets_answer_is_as_the_document_says(tmp_path: Path, bert: Tiny) -> None:
    site = Site(tmp_path, bert)
    site.measure("a.json", version=site.trained.version)
    site.results.write_text('{"objectives": {}}', encoding="utf-8")
    with site.serving() as api:
        for path, template, status in (
            ("/v1/models", "/v1/models", 200),
            ("/v1/models/trained-42", "/v1/models/{id}", 200),
            ("/v1/models/fake", "/v1/models/{id}", 200),
            ("/v1/models/x", "/v1/models/{id}", 404),
            ("/v1/models/trained-42/training", "/v1/models/{id}/training", 200),
            ("/v1/models/fake/training", "/v1/models/{id}/training", 404),
            ("/v1/results", "/v1/results", 200),
        ):
            response = api.get(path)
            assert response.status_code == status
            assert_described(api, "get", template, response)
        named = api.get("/openapi.json").json()["components"]["schemas"]["ModelCard"]["properties"]
        assert api.get("/v1/models/trained-42").json().keys() == named.keys()


class TestPage:
    @pytest.fixture(params=["", "/triad"])
    def place(self, request: pytest.FixtureRequest, fake: Fake) -> Iterator[tuple[Api, str]]:
        """The API as a proxy shows it: at the root, or below a prefix that is left on."""
        with serving(served(fake), path_prefix=request.param) as api:
            yield api, request.param

    def test_all_that_it_loads_is_there_and_nothing_is_loaded_from_elsewhere(
        self, place: tuple[Api, str]
    ) -> None:
        api, prefix = place
        page = api.get(f"{prefix}/docs")
        assert page.headers["content-type"].startswith("text/html")
        assert not re.search(r"(https?:)?//", page.text.split("<html")[1])
        addresses = re.findall(r"""(?:src|href|url)[=:] ?["']([^"']+)""", page.text)
        assert len(addresses) == 4
        for address in addresses:
            response = api.get(urljoin(f"{prefix}/docs", address))
            assert response.status_code == 200, address
            assert response.content

    @pytest.mark.parametrize("end", ["/", ""])
    def test_the_index_leads_to_it(self, place: tuple[Api, str], end: str) -> None:
        api, prefix = place
        asked = f"{prefix}{end}" or "/"
        response = api.get(asked)
        assert response.status_code == 307
        assert urljoin(f"http://triad{asked}", response.headers["Location"]) == (
            f"http://triad{prefix}/docs"
        )


class TestHealth:
    def test_a_service_is_alive_and_ready_and_a_draining_one_not_ready(self, api: Api) -> None:
        assert api.get("/livez").json() == {"status": "alive"}
        assert api.get("/readyz").json() == {"status": "ready"}
        api.engine.draining = True
        assert api.get("/livez").status_code == 200
        assert refusal(api.get("/readyz"), 503)["code"] == "draining"
        assert api.post("/v1/embeddings", ASKED["/v1/embeddings"]).status_code == 200

    def test_one_without_encoders_is_alive_and_not_ready_and_says_why(self) -> None:
        with serving() as api:
            registry = api.engine.registry

            def why(path: str, code: str) -> str:
                error = refusal(api.get(path), 503)
                assert error["code"] == code
                return str(error["message"])

            assert api.get("/livez").status_code == 200
            nothing = "no encoder is served (none was found); see the log."
            assert why("/readyz", "no_encoder") == nothing
            registry.refused = {"a-1": "no graph", "b-1": "no tokenizer"}
            assert "(a-1: no graph; b-1: no tokenizer)" in why("/readyz", "no_encoder")
            registry.loaded = False
            loading = "the encoders are being loaded; try again soon."
            assert why("/readyz", "loading") == why("/v1/models", "loading") == loading

    def test_one_answers_with_its_first_encoder_and_is_ready_with_its_last(self, api: Api) -> None:
        api.engine.registry.loaded = False
        assert api.get("/v1/models").status_code == 200
        assert api.get("/readyz").status_code == 503

    def test_one_whose_threads_have_died_is_not_alive(
        self, api: Api, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """BentoML asks a hook; behind a prefix this route is what a proxy asks."""
        monkeypatch.setattr(type(api.engine.batcher), "alive", False)
        assert refusal(api.get("/livez"), 503)["code"] == "not_alive"

    @pytest.mark.parametrize("path", GETS)
    def test_head_is_get_without_a_body(self, api: Api, path: str) -> None:
        head, get = api.call("HEAD", path), api.get(path)
        assert (head.status_code, head.content) == (get.status_code, b"")
        assert head.headers["content-length"] or get.headers["content-length"]
