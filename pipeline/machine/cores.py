"""The processor and how many of its cores may be used; the service counts them without torch."""

from __future__ import annotations

import math
import os
import platform
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
_CPUINFO = Path("/proc/cpuinfo")


def processor() -> str:
    """As the CPU calls itself; what the system says of it where that is not to be had."""
    if _CPUINFO.is_file():
        for line in _CPUINFO.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def usable_cores(cgroup: Path = _CGROUP) -> int:
    """Whole cores, at least 1: a quota of 1.5 gives 2, since an idle share costs less than none."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    quota = _quota(cgroup)
    return max(1, min(allowed or 1, math.ceil(quota) if quota else allowed or 1))


def _quota(cgroup: Path) -> float | None:
    """Cores of CPU time that control groups grant; None: no limit, or none that is known."""
    try:
        granted, period = (cgroup / "cpu.max").read_text(encoding="ascii").split()
        return None if granted == "max" else int(granted) / int(period)
    except (OSError, ValueError):
        pass
    try:  # version 1
        granted = (cgroup / "cpu" / "cpu.cfs_quota_us").read_text(encoding="ascii")
        period = (cgroup / "cpu" / "cpu.cfs_period_us").read_text(encoding="ascii")
        return int(granted) / int(period) if int(granted) > 0 else None
    except (OSError, ValueError):
        return None
