"""Structured logs: one JSON object a line on standard error, for everything below `serve`."""

import logging
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from logging.handlers import QueueHandler, QueueListener
from queue import Empty, SimpleQueue
from typing import Any, TextIO

from pythonjsonlogger.json import JsonFormatter

_SECONDS = 0.1


class Formatter(JsonFormatter):
    """A record as JSON; a mapping as message becomes fields of its own."""

    def add_fields(
        self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]
    ) -> None:
        """What the line says, in this order."""
        moment = datetime.fromtimestamp(record.created, UTC)
        log_data["time"] = moment.isoformat(timespec="milliseconds")
        log_data["level"] = record.levelname.lower()
        log_data["logger"] = record.name
        if record.message:
            log_data["message"] = record.message
        log_data.update(message_dict)


class Handler(QueueHandler):
    """Hands records over as they are; nothing is formatted where it is logged."""

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """The record itself: it stays in this process."""
        return record


class Listener(QueueListener):
    """Writes ten times a second: woken by every record, it would take the event loop's turn."""

    def dequeue(self, block: bool) -> logging.LogRecord:  # noqa: FBT001 - as its base
        """The next record, or None at the end."""
        while block:
            with suppress(Empty):
                return super().dequeue(block=False)
            time.sleep(_SECONDS)
        return super().dequeue(block=False)


def configure(stream: TextIO | None = None) -> Listener:
    """Send the logs of `serve` to a stream, by default standard error, and nowhere else.

    Stopping the listener writes what has gathered.
    """
    records: SimpleQueue[Any] = SimpleQueue()
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(Formatter())
    listener = Listener(records, handler)
    listener.start()
    logger = logging.getLogger("serve")
    logger.handlers = [Handler(records)]
    logger.propagate = False
    logger.setLevel(logging.INFO)
    return listener
