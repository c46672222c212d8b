"""The CPU's name, for reports."""

import platform
from pathlib import Path

_LINUX = Path("/proc/cpuinfo")


def processor() -> str:
    """As the CPU calls itself; what the system says of it where that is not to be had."""
    if _LINUX.is_file():
        for line in _LINUX.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
