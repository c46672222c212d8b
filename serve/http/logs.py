"""Structured logs: one JSON object a line on standard error, for everything below `serve`."""

import logging
import sys
from datetime import UTC, datetime
from typing import Any

import orjson


class JsonFormatter(logging.Formatter):
    """A record as JSON; a mapping as message becomes fields of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if isinstance(record.msg, dict):
            line |= record.msg
        else:
            line["message"] = record.getMessage()
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line).decode()


def configure() -> None:
    """Send the logs of `serve` to standard error, and nowhere else."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("serve")
    logger.handlers = [handler]
    logger.propagate = False
    logger.setLevel(logging.INFO)
