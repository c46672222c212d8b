"""The page's document: ours to the last tag, cached where it never changes."""

import json
import re
import subprocess
import sys
from typing import Any

import pytest

# In a process of its own, since Gradio leaves event loops open where no server runs the page.
ASK = """
import json, re
from starlette.testclient import TestClient
from app.page import create_app
client = TestClient(create_app("http://127.0.0.1:9"))
page = client.get("/demo/")
image = re.findall(r'property="og:image" content="./([^"]+)"', page.text)[0]
asset = re.findall(r'src="\\./(assets/index-[\\w-]+\\.js)"', page.text)[0]
print(json.dumps({
    "text": page.text,
    "page": dict(page.headers),
    "image": dict(client.get(f"/demo/{image}").headers),
    "asset": dict(client.get(f"/demo/{asset}").headers),
}))
"""


@pytest.fixture(scope="module")
def answers() -> Any:
    ended = subprocess.run([sys.executable, "-c", ASK], check=True, capture_output=True, text=True)
    return json.loads(ended.stdout.splitlines()[-1])


def test_a_link_preview_is_of_the_page_and_not_of_gradio(answers: Any) -> None:
    text = answers["text"]
    assert re.findall(r'property="og:title" content="([^"]+)"', text) == [
        "Triad: why some training objectives forget what sentences mean"
    ]
    assert answers["image"]["content-type"] == "image/png"
    assert "twitter:" not in text
    assert "raw.githubusercontent" not in text


def test_the_document_is_compressed_and_hashed_assets_are_kept(answers: Any) -> None:
    assert answers["page"]["content-encoding"] == "gzip"
    assert "immutable" in answers["asset"]["cache-control"]
    assert "immutable" not in answers["page"].get("cache-control", "")
