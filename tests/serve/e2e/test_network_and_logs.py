"""Where the service listens by itself, whom it talks to, and what it writes down."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tests.serve.e2e.nonsense import POSTS
from tests.serve.e2e.process import eventually
from tests.serve.e2e.wire import head, post

if TYPE_CHECKING:
    from tests.serve.e2e.process import Server


def test_it_listens_on_the_loopback_address_alone(server: Server) -> None:
    found = server.listening()
    assert server.address in found
    assert {host for host, _ in found} == {"127.0.0.1"}


def test_it_is_connected_to_nobody_but_its_clients_here(server: Server) -> None:
    for _ in range(10):
        server.post("/v1/embeddings", {"model": "vicreg-42", "input": "no"})
        assert server.peers() <= {"127.0.0.1"}
        time.sleep(0.1)


def test_logs_are_json_lines_without_any_text_of_a_request(server: Server) -> None:
    secret = "xylophone"
    bodies = [
        {"model": "vicreg-42", "input": secret},
        {"model": "vicreg-42", "input": [secret, ""]},
        {"model": secret, "input": secret},
        {"model": "vicreg-42", "input": secret, secret: 1},
        {"model": "vicreg-42", "query": secret, "documents": [secret]},
        {"model": "vicreg-42", "pairs": [[secret, secret]]},
        {"model": "vicreg-42", "anchors": [secret, secret], "objective": secret},
    ]
    requests = [post(path, body) for path in POSTS for body in bodies]
    requests += [post(path, secret.encode()) for path in POSTS]
    key = f"Authorization: Bearer {secret}"
    requests += [post(f"{path}?q={secret}", bodies[0], key) for path in POSTS]
    requests += [head("GET", f"/v1/models/{secret}"), head("GET", f"/{secret}")]
    requests += [head("GET", "/v1/results")]
    before = len(server.records)
    server.ask(head(secret.upper(), "/"))  # which is no HTTP
    for request in requests:
        server.ask(request)

    def lines() -> list[dict[str, Any]]:
        return [one for one in server.records[before:] if one["logger"] == "serve.requests"]

    eventually(lambda: [one["route"] for one in lines()][-1:] == ["/v1/results"])
    assert secret not in (server.output).lower()
    assert len(lines()) == len(requests)
    for line in lines():
        assert {"time", "level", "request", "method", "route", "status", "ms"} <= line.keys()
