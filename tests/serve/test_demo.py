"""The demo as part of the service: loaded on the first visit, ended with it, never in the way."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from fastapi import FastAPI, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from serve.demo import Page
from tests.serve.served import Api, on_loop, serving, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import httpx


class Made:
    """A page's application, with what has happened to it."""

    def __init__(self) -> None:
        self.addresses: list[str] = []
        self.lived: list[str] = []
        self.streaming = asyncio.Event()

    def __call__(self, address: str) -> FastAPI:
        self.addresses.append(address)

        @asynccontextmanager
        async def lifespan(_: FastAPI) -> AsyncIterator[None]:
            self.lived.append("begun")
            yield
            self.lived.append("ended")

        async def pieces() -> AsyncIterator[str]:
            yield "a piece"
            self.streaming.set()
            await asyncio.Event().wait()

        app, page = FastAPI(lifespan=lifespan), FastAPI()
        app.mount("/demo", page)

        @page.get("/")
        async def show(request: Request) -> Response:
            return PlainTextResponse(str(request.url))

        @page.get("/stream")
        async def stream() -> Response:
            return StreamingResponse(pieces())

        return app


@asynccontextmanager
async def visiting(
    make: Callable[[str], FastAPI], prefix: str = ""
) -> AsyncIterator[tuple[httpx.AsyncClient, Page]]:
    """A visitor without the key that the API wants."""
    page = Page(make)
    with serving(keys=[b"secret"], page=page, path_prefix=prefix) as api:
        async with api.session() as visitor:
            yield visitor, page
        page.stop()


@pytest.mark.parametrize("prefix", ["", "/nlp"])
@on_loop
async def test_the_first_visit_loads_it_and_the_others_find_it(prefix: str) -> None:
    made = Made()
    async with visiting(made, prefix) as (visitor, _):
        assert (await visitor.get(f"{prefix}/livez")).status_code == 200
        assert made.addresses == []
        answers = await asyncio.gather(*(visitor.get(f"{prefix}/demo/") for _ in range(3)))
        assert {answer.text for answer in answers} == {f"http://triad{prefix}/demo/"}
        # As a proxy that takes the prefix off.
        assert (await visitor.get("/demo/")).text == f"http://triad{prefix}/demo/"
        assert (len(made.addresses), made.lived) == (1, ["begun"])


@pytest.mark.parametrize("address", ["http://127.0.0.1:3111", "http://[::1]:3000"])
@on_loop
async def test_it_asks_the_service_where_its_visitor_reached_it(address: str) -> None:
    """Whatever HOST and PORT say: `bentoml serve --port` chooses another one."""
    made = Made()
    async with visiting(made) as (visitor, _):
        await visitor.get(f"{address}/demo/")
    assert made.addresses == [address]


@on_loop
async def test_one_that_cannot_be_loaded_harms_nobody() -> None:
    def fails(_: str) -> FastAPI:
        raise ImportError("no such package")

    async with visiting(fails) as (visitor, _):
        assert (await visitor.get("/demo/")).status_code == 500
        assert (await visitor.get("/livez")).status_code == 200


@on_loop
async def test_stopping_ends_its_streams_and_its_life() -> None:
    made = Made()
    async with visiting(made) as (visitor, page):
        streaming = asyncio.create_task(visitor.get("/demo/stream"))
        await until(made.streaming.is_set)
        page.stop()
        assert (await streaming).text == "a piece"
        await until(lambda: made.lived == ["begun", "ended"])


@pytest.mark.parametrize("prefix", ["", "/triad"])
def test_the_index_leads_to_it_and_so_does_its_path_without_a_slash(prefix: str) -> None:
    with serving(page=Page(Made()), path_prefix=prefix) as api:
        place = f"{prefix}/demo/" if prefix else "demo/"
        assert api.get(f"{prefix}/").headers["Location"] == place
        assert api.get(f"{prefix}/demo").headers["Location"] == "demo/"
        assert api.get("/favicon.ico").headers["Content-Type"] == "image/svg+xml"


def test_its_requests_are_counted_under_one_route() -> None:
    with serving(page=Page(Made())) as api:
        api.get("/demo/some/thing")
        assert api.count("triad_requests_total", route="/demo", status="404") == 1
        assert Api(api.engine).get("/demo/").status_code == 404  # without a page
