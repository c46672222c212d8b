"""Structured logs: one JSON object a line on standard error, for everything below `serve`.

Lines are gathered and written ten times a second: a system call for each request would cost the
event loop its turn with Python's lock, and more time than the rest of the answer.
"""

import atexit
import logging
import sys
import threading
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson

_SECONDS = 0.1


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
            line["message"] = _printable(record.getMessage())
        if record.exc_info:
            line["exception"] = _printable(self.formatException(record.exc_info))
        return orjson.dumps(line).decode()


def _printable(text: str) -> str:
    """Without halves of surrogate pairs, which are no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


class GatheringHandler(logging.Handler):
    """Writes what has gathered every tenth of a second, at once for warnings, and at the end."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._lines: list[str] = []
        self._ended = threading.Event()
        threading.Thread(target=self._write_now_and_then, name="logs", daemon=True).start()
        atexit.register(self.flush)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record's line for the next writing."""
        self._lines.append(self.format(record))
        if record.levelno >= logging.WARNING:
            self.flush()

    def flush(self) -> None:
        """Write what has gathered."""
        with self.lock or threading.RLock():
            lines, self._lines = self._lines, []
            if lines and not self._stream.closed:
                self._stream.write("\n".join(lines) + "\n")
                self._stream.flush()

    def close(self) -> None:
        """Write what has gathered, and end."""
        self._ended.set()
        self.flush()
        super().close()

    def _write_now_and_then(self) -> None:
        while not self._ended.wait(_SECONDS):
            self.flush()


def configure(stream: TextIO | None = None) -> None:
    """Send the logs of `serve` to a stream, by default standard error, and nowhere else."""
    logger = logging.getLogger("serve")
    for old in logger.handlers:
        old.close()
    handler = GatheringHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    logger.handlers = [handler]
    logger.propagate = False
    logger.setLevel(logging.INFO)
