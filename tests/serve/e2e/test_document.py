"""The page's document: ours to the last tag, cached where it never changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import httpx
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.serve.e2e.process import Server


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, trust_env=False, timeout=60) as client:
        yield client


def test_a_link_preview_is_of_the_page_and_not_of_gradio(client: httpx.Client) -> None:
    text = client.get("/demo/").text
    assert re.findall(r'property="og:title" content="([^"]+)"', text) == [
        "Triad: why some training objectives forget what sentences mean"
    ]
    (image,) = re.findall(r'property="og:image" content="./([^"]+)"', text)
    assert client.get(f"/demo/{image}").headers["content-type"] == "image/png"
    assert "twitter:" not in text
    assert "raw.githubusercontent" not in text


def test_the_document_is_compressed_and_hashed_assets_are_kept(client: httpx.Client) -> None:
    page = client.get("/demo/")
    asset = re.findall(r'src="\./(assets/index-[\w-]+\.js)"', page.text)[0]
    assert page.headers["content-encoding"] == "gzip"
    assert "immutable" in client.get(f"/demo/{asset}").headers["cache-control"]
    assert "immutable" not in page.headers.get("cache-control", "")
