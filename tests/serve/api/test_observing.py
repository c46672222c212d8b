"""What is seen from outside of each request: its id, its line in the log, its place in metrics."""

from __future__ import annotations

import json
import logging
import os
import re
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from serve.api import logs
from serve.api.logs import Formatter
from tests.serve.api.test_errors import ASKED
from tests.serve.fakes import Fake, row, words
from tests.serve.served import PROPERTY, Api

if TYPE_CHECKING:
    from collections.abc import Iterator

EMBEDDINGS = ASKED["/v1/embeddings"]


class TestRequestIds:
    @pytest.mark.parametrize("given", ["a", "A-Z.0_9:/+=", "x" * 128])
    def test_a_clients_own_is_kept_in_answers_and_errors(self, api: Api, given: str) -> None:
        for path in ("/livez", "/nothing", "/v1/embeddings"):
            assert api.get(path, headers={"X-Request-Id": given}).headers["X-Request-Id"] == given

    @pytest.mark.parametrize(
        "given", ["", " ", "a b", "x" * 129, 'a"b', "a\tb", "{}", "ä".encode(), b"a\x7f", b"a\n"]
    )
    def test_what_could_forge_a_line_is_replaced(self, api: Api, given: str | bytes) -> None:
        found = api.get("/livez", headers={"X-Request-Id": given}).headers["X-Request-Id"]
        assert re.fullmatch("[0-9a-f]{28}", found)


class Log:
    """The log as it is configured for serving."""

    def __init__(self) -> None:
        self._stream = StringIO()
        self._listener = logs.configure(self._stream)

    def lines(self) -> list[dict[str, Any]]:
        """All of it; it ends with that."""
        self._listener.stop()
        return [json.loads(line) for line in self._stream.getvalue().splitlines()]


@pytest.fixture
def log() -> Iterator[Log]:
    logger = logging.getLogger("serve")
    before = logger.handlers, logger.propagate, logger.level
    yield Log()
    logger.handlers, logger.propagate, logger.level = before


SECRET = "violet"  # a word that no log may have


class TestLog:
    def test_a_request_is_one_line_of_json(self, api: Api, log: Log) -> None:
        api.post("/v1/embeddings", EMBEDDINGS, {"X-Request-Id": "mine"})
        (line,) = log.lines()
        assert (line["level"], line["logger"]) == ("info", "serve.requests")
        assert (line["request"], line["method"]) == ("mine", "POST")
        assert (line["route"], line["status"]) == ("/v1/embeddings", 200)
        assert line["ms"] >= 0
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", line["time"])

    def test_no_trace_of_a_fault_has_a_text_of_the_request(
        self, api: Api, fake: Fake, log: Log
    ) -> None:
        fake.faults[row(0)] = RuntimeError("no such kernel")  # the secret is not in the vocabulary
        assert api.post("/v1/embeddings", {"model": "fake", "input": SECRET}).status_code == 500
        fault, line = log.lines()
        assert (fault["level"], line["level"]) == ("error", "info")
        assert "RuntimeError: no such kernel" in fault["exc_info"]
        assert SECRET not in f"{fault}{line}"

    def test_a_made_up_method_is_cut(self, api: Api, log: Log) -> None:
        api.call("M" * 1000, "/metrics")
        assert log.lines()[0]["method"] == "M" * 16

    @PROPERTY
    @given(message=st.text(st.characters(exclude_categories=[])) | st.text().map(repr))
    @example(message=os.fsdecode(b"models/\xff"))  # a folder's name that is not UTF-8
    def test_whatever_is_said_is_one_line(self, message: str) -> None:
        record = logging.LogRecord("serve", logging.WARNING, "", 0, "%s", (message,), None)
        line = Formatter().format(record)
        assert "\n" not in line
        json.loads(line)

    def test_what_is_asked_all_the_time_is_not_told(self, api: Api, log: Log) -> None:
        api.get("/livez")
        api.get("/readyz")
        assert log.lines() == []
        assert samples(api, "triad_requests_total") == {}


def samples(api: Api, name: str) -> dict[tuple[str, ...], float]:
    """Values by labels, as a Prometheus server reads them."""
    families = text_string_to_metric_families(api.get("/metrics").text)
    return {
        tuple(sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
        if sample.name == name
    }


class TestMetrics:
    def test_requests_are_counted_by_route_and_status(self, api: Api) -> None:
        for _ in range(3):
            api.post("/v1/embeddings", EMBEDDINGS)
        api.post("/v1/embeddings", b"{")
        api.get("/v1/models/fake")
        api.get("/v1/models/fakes")
        api.get("/v1/models/fake/training")
        api.get("/v1/embeddings")
        assert samples(api, "triad_requests_total") == {
            ("/v1/embeddings", "200"): 3,
            ("/v1/embeddings", "400"): 1,
            ("/v1/embeddings", "405"): 1,
            ("/v1/models/{id}", "200"): 1,
            ("/v1/models/{id}", "404"): 1,
            ("/v1/models/{id}/training", "404"): 1,
        }
        seconds = samples(api, "triad_request_seconds_count")
        assert seconds["/v1/embeddings",] == 5

    def test_paths_that_clients_make_up_are_one_label(self, api: Api) -> None:
        for number in range(20):
            api.get(f"/made/up/{number}")
            api.get(f"/v1/models/made-up-{number}")
            api.get(f"/docs/assets/{number}")
            api.call(f"MADE{number}", "/v1/embeddings")
        assert set(samples(api, "triad_requests_total")) == {
            ("other", "404"),
            ("/docs/assets", "404"),
            ("/v1/models/{id}", "404"),
            ("/v1/embeddings", "405"),
        }

    def test_texts_tokens_and_batches_add_up(self, api: Api, fake: Fake) -> None:
        """Five texts of which two are equal: four rows of 3 tokens, one of 4."""
        asked = [words(5), words(5), words(6), words(7), words(8, 9)]
        api.post("/v1/embeddings", {"model": "fake", "input": asked})
        padded = sum(len(batch) * max(map(len, batch)) for batch in fake.batches)
        for name, value in (
            ("texts_total", 4),
            ("tokens_total", 13),
            ("batch_tokens_sum", padded),
            ("batch_tokens_count", len(fake.batches)),
            ("compute_seconds_count", len(fake.batches)),
            ("queue_seconds_count", 1),
            ("tokenize_seconds_count", 1),
            ("queue_texts", 0),
        ):
            assert samples(api, f"triad_{name}") == {(): value}, name
