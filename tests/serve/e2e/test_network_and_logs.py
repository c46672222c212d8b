"""Where the service listens by itself, whom it talks to, and what it writes down."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

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
    seen: set[str] = set()
    for _ in range(10):
        server.post("/v1/embeddings", {"model": "vicreg-42", "input": "no"})
        seen |= server.peers()
        time.sleep(0.1)
    assert seen <= {"127.0.0.1"}


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
    before = len(server.records)
    for path in POSTS:
        for body in bodies:
            server.post(path, body)
        server.ask(post(path, secret.encode()))
        server.ask(post(f"{path}?q={secret}", bodies[0], f"Authorization: Bearer {secret}"))
    server.get(f"/v1/models/{secret}")
    server.get(f"/{secret}")
    server.ask(head(secret.upper(), "/"))
    server.get("/v1/results")

    def of_requests() -> list[dict[str, object]]:
        records = server.records[before:]
        return [one for one in records if one["logger"] == "serve.requests"]

    eventually(lambda: of_requests()[-1:] and of_requests()[-1]["route"] == "/v1/results")
    assert secret not in (server.log + server.output).lower()
    assert (
        len(of_requests()) == len(POSTS) * (len(bodies) + 2) + 3
    )  # the unknown method was no HTTP
    for record in of_requests():
        assert {"time", "level", "request", "method", "route", "status", "ms"} <= record.keys()
