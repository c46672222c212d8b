"""The demo as part of the service: loaded on the first visit, ended with it, never in the way."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx
import pytest
from fastapi import FastAPI, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from serve.api.app import create_api
from serve.demo import Page
from tests.serve.fakes import PATIENCE
from tests.serve.served import PARAMS, Api, running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


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
    make: Callable[[str], FastAPI], prefix: str = "", address: str = "http://triad"
) -> AsyncIterator[Visitor]:
    with running(params=PARAMS.model_copy(update={"path_prefix": prefix})) as engine:
        page = Page(make)
        transport = httpx.ASGITransport(create_api(engine, [b"secret"], page))
        async with httpx.AsyncClient(transport=transport, base_url=address) as client:
            yield Visitor(client, page)
        page.stop()


class Visitor:
    def __init__(self, client: httpx.AsyncClient, page: Page) -> None:
        self.get = client.get
        self.page = page


@pytest.mark.parametrize("prefix", ["", "/nlp"])
def test_the_first_visit_loads_it_and_the_others_find_it(prefix: str) -> None:
    """Without a key, which the API would want, and at its whole address."""

    async def main() -> None:
        made = Made()
        async with visiting(made, prefix) as visitor:
            assert (await visitor.get(f"{prefix}/livez")).status_code == 200
            assert made.addresses == []
            answers = await asyncio.gather(*(visitor.get(f"{prefix}/demo/") for _ in range(3)))
            assert {answer.text for answer in answers} == {f"http://triad{prefix}/demo/"}
            # As a proxy that takes the prefix off.
            assert (await visitor.get("/demo/")).text == f"http://triad{prefix}/demo/"
            assert (len(made.addresses), made.lived) == (1, ["begun"])

    asyncio.run(main())


@pytest.mark.parametrize("address", ["http://127.0.0.1:3111", "http://[::1]:3000"])
def test_it_asks_the_service_where_its_visitor_reached_it(address: str) -> None:
    """Whatever HOST and PORT say: `bentoml serve --port` chooses another one."""

    async def main() -> None:
        made = Made()
        async with visiting(made, address=address) as visitor:
            await visitor.get("/demo/")
            assert made.addresses == [address]

    asyncio.run(main())


def test_one_that_cannot_be_loaded_harms_nobody() -> None:
    def fails(_: str) -> FastAPI:
        raise ImportError("no such package")

    async def main() -> None:
        logging.disable(logging.ERROR)
        async with visiting(fails) as visitor:
            assert (await visitor.get("/demo/")).status_code == 500
            assert (await visitor.get("/livez")).status_code == 200
        logging.disable(logging.NOTSET)

    asyncio.run(main())


def test_stopping_ends_its_streams_and_its_life() -> None:
    async def main() -> None:
        made = Made()
        async with visiting(made) as visitor:
            streaming = asyncio.create_task(visitor.get("/demo/stream"))
            async with asyncio.timeout(PATIENCE):
                await made.streaming.wait()
                visitor.page.stop()
                assert (await streaming).text == "a piece"
                while made.lived != ["begun", "ended"]:
                    await asyncio.sleep(0.01)

    asyncio.run(main())


@pytest.mark.parametrize("prefix", ["", "/triad"])
def test_the_index_leads_to_it_and_so_does_its_path_without_a_slash(prefix: str) -> None:
    with running(params=PARAMS.model_copy(update={"path_prefix": prefix})) as engine:
        api = Api(engine)
        api.app = create_api(engine, (), Page(Made()))
        place = f"{prefix}/demo/" if prefix else "demo/"
        assert api.get(f"{prefix}/").headers["Location"] == place
        assert api.get(f"{prefix}/demo").headers["Location"] == "demo/"
        assert api.get("/favicon.ico").headers["Content-Type"] == "image/svg+xml"


def test_its_requests_are_counted_under_one_route() -> None:
    with running() as engine:
        api = Api(engine)
        api.app = create_api(engine, (), Page(Made()))
        api.get("/demo/some/thing")
        assert b'triad_requests_total{route="/demo",status="404"} 1.0' in (
            engine.metrics.exposition()
        )
        assert Api(engine).get("/demo/").status_code == 404  # without a page
