"""Health, documentation, and the OpenAPI document, which says what the routes really answer."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.api.contract import parse
from serve.errors import ApiError
from tests.serve.api.test_contract import VALID
from tests.serve.api.test_contract_json import values
from tests.serve.api.test_errors import ASKED, GETS
from tests.serve.api.test_models import Site
from tests.serve.fakes import Fake, served, words
from tests.serve.served import PARAMS, PROPERTY, Api, refusal, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from serve.api.contract import Request
    from tests.serve.conftest import Tiny


def validate(api: Api, answer: object, schema: dict[str, Any]) -> None:
    """Against a schema of the document, with its components."""
    components = api.get("/openapi.json").json()["components"]
    jsonschema.Draft202012Validator(schema | {"components": components}).validate(answer)


def described(api: Api, method: str, path: str, status: int) -> dict[str, Any]:
    """The schema of an answer; all refusals have the same."""
    responses = api.get("/openapi.json").json()["paths"][path][method]["responses"]
    answer = responses["200" if status == 200 else "default"]
    schema: dict[str, Any] = answer["content"]["application/json"]["schema"]
    return schema


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

    def test_it_describes_errors(self, api: Api) -> None:
        error = refusal(api.post("/v1/embeddings", b"{"), 400)
        validate(api, {"error": error}, described(api, "post", "/v1/embeddings", 400))

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
    operation = api.get("/openapi.json").json()["paths"][path]["post"]
    validate(api, fields, operation["requestBody"]["content"]["application/json"]["schema"])
    response = api.post(path, fields)
    assert response.status_code == 200
    validate(api, response.json(), described(api, "post", path, 200))


def test_a_gets_answer_is_as_the_document_says(tmp_path: Path, bert: Tiny) -> None:
    site = Site(tmp_path, bert)
    site.measure("a.json", version=site.trained.version)
    site.results.write_text('{"objectives": {}}', encoding="utf-8")
    with running(site.trained, *site.others, params=site.params) as engine:
        api = Api(engine)
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
            validate(api, response.json(), described(api, "get", template, status))


def test_a_card_tells_nothing_that_the_document_does_not_name(tmp_path: Path, bert: Tiny) -> None:
    site = Site(tmp_path, bert)
    with running(site.trained, params=site.params) as engine:
        api = Api(engine)
        named = api.get("/openapi.json").json()["components"]["schemas"]["ModelCard"]["properties"]
        assert set(api.get("/v1/models/trained-42").json()) <= set(named)


@pytest.mark.parametrize(("kind", "content"), VALID)
@PROPERTY
@given(data=st.data(), value=values)
def test_what_is_read_is_valid_by_the_document(
    kind: type[Request], content: dict[str, Any], data: st.DataObject, value: object
) -> None:
    """Every request that is taken is one that the document allows."""
    name = data.draw(st.sampled_from(sorted(kind.model_fields)))
    body = json.dumps(content | {name: value}).encode()
    try:
        parse(kind, body)
    except ApiError:
        return
    jsonschema.Draft202012Validator(kind.model_json_schema()).validate(json.loads(body))


class TestPage:
    @pytest.fixture(params=["", "/triad"])
    def place(self, request: pytest.FixtureRequest, fake: Fake) -> Iterator[tuple[Api, str]]:
        """The API as a proxy shows it: at the root, or below a prefix that is left on."""
        params = PARAMS.model_copy(update={"path_prefix": request.param})
        with running(served(fake), params=params) as engine:
            yield Api(engine), request.param

    def test_it_loads_from_nowhere_else(self, api: Api) -> None:
        assert not re.search(r"(https?:)?//", api.get("/docs").text.split("<html")[1])

    def test_all_that_it_loads_is_there(self, place: tuple[Api, str]) -> None:
        api, prefix = place
        page = api.get(f"{prefix}/docs")
        assert page.headers["content-type"].startswith("text/html")
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
    def test_a_service_is_alive_and_ready(self, api: Api) -> None:
        assert api.get("/livez").json() == {"status": "alive"}
        assert api.get("/readyz").json() == {"status": "ready"}

    def test_a_draining_one_is_alive_and_not_ready(self, api: Api) -> None:
        api.engine.draining = True
        assert api.get("/livez").status_code == 200
        assert refusal(api.get("/readyz"), 503)["code"] == "draining"
        assert api.post("/v1/embeddings", ASKED["/v1/embeddings"]).status_code == 200

    def test_one_without_encoders_is_alive_and_not_ready_and_says_why(self) -> None:
        with running() as engine:
            api, registry = Api(engine), engine.registry

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
