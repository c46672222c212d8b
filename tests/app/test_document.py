"""The page's document: ours to the last tag, cached where it never changes."""

import asyncio
import gc
import re
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from app.page import create_app

# Gradio leaves event loops open where no server runs the page.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def loops() -> list[asyncio.BaseEventLoop]:
    return [one for one in gc.get_objects() if issubclass(type(one), asyncio.BaseEventLoop)]


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    before = loops()
    yield TestClient(create_app("http://127.0.0.1:9"))
    for loop in loops():  # so that no other test is told of them
        if loop not in before and not loop.is_running():
            loop.close()


def test_a_link_preview_is_of_the_page_and_not_of_gradio(client: TestClient) -> None:
    text = client.get("/demo/").text
    assert re.findall(r'property="og:title" content="([^"]+)"', text) == [
        "Triad: why some training objectives forget what sentences mean"
    ]
    image = re.findall(r'property="og:image" content="./([^"]+)"', text)
    assert client.get(f"/demo/{image[0]}").headers["content-type"] == "image/png"
    assert "twitter:" not in text
    assert "raw.githubusercontent" not in text


def test_the_document_is_compressed_and_hashed_assets_are_kept(client: TestClient) -> None:
    answer = client.get("/demo/")
    assert answer.headers["content-encoding"] == "gzip"
    asset = re.findall(r'src="\./(assets/index-[\w-]+\.js)"', answer.text)[0]
    assert "immutable" in client.get(f"/demo/{asset}").headers["cache-control"]
    assert "immutable" not in answer.headers.get("cache-control", "")
