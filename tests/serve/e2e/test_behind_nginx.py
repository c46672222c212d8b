"""The service below a path, behind nginx as docs/operating.md configures it."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.serve.e2e.process import free_port
from tests.tiny import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.serve.e2e.store import Store

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
(PRINTED,) = re.findall(
    r"```nginx\n(.*?)```", (ROOT / "docs/operating.md").read_text(encoding="utf-8"), re.DOTALL
)
MAIN = """
daemon off;
pid {folder}/pid;
error_log {folder}/error;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {printed}
}}
"""


@pytest.fixture(scope="module")
def site(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of nginx, whose configuration is the printed one, but for ports and rate."""
    folder = tmp_path_factory.mktemp("nginx")
    with store.serving(folder, path_prefix="/triad") as server:
        port = free_port()
        printed = PRINTED.replace("127.0.0.1:3000", f"127.0.0.1:{server.address[1]}")
        printed = printed.replace("listen 80", f"listen 127.0.0.1:{port}")
        printed = printed.replace("rate=20r/s", "rate=1r/s")  # a busy machine asks no faster
        file = folder / "nginx.conf"
        file.write_text(MAIN.format(folder=folder, printed=printed), encoding="utf-8")
        with (
            subprocess.Popen([str(NGINX), "-c", file, "-p", folder]) as nginx,
            httpx.Client(
                base_url=f"http://127.0.0.1:{port}",
                timeout=60,
                transport=httpx.HTTPTransport(retries=8),  # while nginx starts
                trust_env=False,
            ) as site,
        ):
            yield site
            nginx.terminate()


def test_the_api_is_below_the_path(site: httpx.Client) -> None:
    content = {"model": "vicreg-42", "input": "a text"}
    assert site.post("/triad/v1/embeddings", json=content).status_code == 200
    for path in ("docs", "docs/assets/swagger-ui.css", "openapi.json", "livez", "v1/models"):
        assert site.get(f"/triad/{path}").status_code == 200, path
    assert site.get("/triad/metrics").status_code == 404
    assert site.get("/triad").headers["Location"].endswith("/triad/")
    assert site.get("/triad/").headers["Location"].endswith("/triad/demo/")


def test_the_page_its_assets_and_its_settings_are_too(site: httpx.Client) -> None:
    page = site.get("/triad/demo/")
    assert page.status_code == 200
    assets = re.findall(r'(?:src|href)="(\./assets/[^"]+)"', page.text)
    assert assets
    for asset in assets:
        assert site.get(f"/triad/demo/{asset}").status_code == 200, asset
    assert site.get("/triad/demo/config").json()["root"] == f"{site.base_url}/triad/demo"


def test_a_key_that_asks_too_often_is_refused_and_others_are_not(site: httpx.Client) -> None:
    def ask(key: str) -> int:
        headers = {"Authorization": f"Bearer {key}"}
        return site.get("/triad/v1/models", headers=headers).status_code

    statuses = [ask("busy") for _ in range(80)]
    assert statuses[0] == 200
    assert 429 in statuses[41:]  # after the burst
    assert set(statuses) == {200, 429}
    assert ask("quiet") == 200
    assert site.get("/triad/livez").status_code == 200
