"""The page's own modules, run without the page: in Node.js, or in Chromium where that is not."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

STATIC = Path(__file__).parents[2] / "app" / "static"


def call(module: str, body: str, argument: object) -> Any:
    """What `body`, the inside of a function of (module, argument), returns; both ways as JSON."""
    source = base64.b64encode((STATIC / module).read_bytes()).decode()
    run = f"""async ([url, argument]) => {{
        const inside = (module, argument) => {{ {body} }};
        return JSON.stringify(inside(await import(url), argument)) ?? 'null';
    }}"""
    given = [f"data:text/javascript;base64,{source}", argument]
    if node := shutil.which("node"):
        script = f"({run})({json.dumps(given)}).then((text) => process.stdout.write(text))"
        done = subprocess.run(
            [node, "--input-type=module"], input=script, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return json.loads(_in_chromium(run, given))


def _in_chromium(run: str, given: object) -> str:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - where there is no Node.js

    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("neither Node.js nor Chromium is installed: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            return str(browser.new_page().evaluate(run, given))
        finally:
            browser.close()
