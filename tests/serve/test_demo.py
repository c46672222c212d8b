"""The demo as part of the service: loaded on the first visit, ended with it, never in the way."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from serve.api.app import create_api
from serve.demo import Demo
from tests.serve.fakes import PATIENCE
from tests.serve.served import PARAMS, Api, running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request


class Page:
    """A page's application, with what has happened to it."""

    def __init__(self) -> None:
        self.made = 0
        self.lived: list[str] = []
        self.streaming = asyncio.Event()

    def make(self) -> Starlette:
        self.made += 1

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            self.lived.append("begun")
            yield
            self.lived.append("ended")

        async def show(request: Request) -> Response:
            return PlainTextResponse(f"{request.url.path} {request.scope['root_path']!r}")

        async def stream(_: Request) -> Response:
            async def pieces() -> AsyncIterator[str]:
                yield "a piece"
                self.streaming.set()
                await asyncio.Event().wait()

            return StreamingResponse(pieces())

        routes = [Route("/demo/", show), Route("/demo/stream", stream)]
        return Starlette(routes=routes, lifespan=lifespan)


@asynccontextmanager
async def visiting(demo: Demo) -> AsyncIterator[httpx.AsyncClient]:
    with running() as engine:
        transport = httpx.ASGITransport(create_api(engine, [b"secret"], demo))
        async with httpx.AsyncClient(transport=transport, base_url="http://triad") as client:
            yield client
        demo.stop()


async def loaded(client: httpx.AsyncClient) -> httpx.Response:
    async with asyncio.timeout(PATIENCE):
        while (answer := await client.get("/demo/")).status_code == 503:
            await asyncio.sleep(0.01)
    return answer


def test_the_first_visit_loads_it_and_says_so_until_it_is_there() -> None:
    async def main() -> None:
        page = Page()
        async with visiting(Demo(page.make)) as client:
            assert page.made == 0
            first = await client.get("/demo/")
            assert (first.status_code, first.headers["Retry-After"]) == (503, "1")
            assert "it is loading" in first.text
            assert 'http-equiv="refresh"' in first.text
            # Without a key, which the API would want; its paths are whole.
            assert (await loaded(client)).text == "/demo/ ''"
            assert (page.made, page.lived) == (1, ["begun"])

    asyncio.run(main())


def test_one_that_cannot_be_loaded_says_so_and_harms_nobody() -> None:
    def fails() -> Starlette:
        raise ImportError("no such package")

    async def main() -> None:
        demo = Demo(fails)
        async with visiting(demo) as client:
            await client.get("/demo/")
            async with asyncio.timeout(PATIENCE):
                while "the log says why" not in (await client.get("/demo/")).text:
                    await asyncio.sleep(0.01)
            assert (await client.get("/livez")).status_code == 200

    asyncio.run(main())


def test_stopping_ends_its_streams_and_its_life() -> None:
    async def main() -> None:
        page = Page()
        demo = Demo(page.make)
        async with visiting(demo) as client:
            await loaded(client)
            streaming = asyncio.create_task(client.get("/demo/stream"))
            async with asyncio.timeout(PATIENCE):
                await page.streaming.wait()
                demo.stop()
                assert (await streaming).text == "a piece"
                while page.lived != ["begun", "ended"]:
                    await asyncio.sleep(0.01)

    asyncio.run(main())


@pytest.mark.parametrize("prefix", ["", "/triad"])
def test_the_index_leads_to_it_and_so_does_its_path_without_a_slash(prefix: str) -> None:
    with running() as engine:
        api = Api(engine)
        engine.params = PARAMS.model_copy(update={"path_prefix": prefix})
        api.app = create_api(engine, (), Demo(Page().make))
        place = f"{prefix}/demo/" if prefix else "demo/"
        assert api.get(f"{prefix}/").headers["Location"] == place
        assert api.get(f"{prefix}/demo").headers["Location"] == "demo/"
        assert api.get("/favicon.ico").headers["Content-Type"] == "image/svg+xml"


def test_without_it_there_is_nothing_at_its_path() -> None:
    with running() as engine:
        api = Api(engine)
        assert api.get("/demo/").status_code == 404
        assert api.get("/").headers["Location"] == "docs"


def test_its_requests_are_counted_under_one_route() -> None:
    with running() as engine:
        Api(engine).get("/demo/some/thing")
        assert b'triad_requests_total{route="/demo",status="404"} 1.0' in (
            engine.metrics.exposition()
        )
