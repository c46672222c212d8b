"""Cores: a container's quota and the CPU set count."""

import os
from pathlib import Path

import pytest

from pipeline.machine.cores import usable_cores

ALLOWED = 8  # cores


def version_1(quota: str) -> dict[str, str]:
    return {"cpu/cpu.cfs_quota_us": f"{quota}\n", "cpu/cpu.cfs_period_us": "100000\n"}


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, ALLOWED),
        ({"cpu.max": "max 100000\n"}, ALLOWED),
        ({"cpu.max": "200000 100000\n"}, 2),
        ({"cpu.max": "150000 100000\n"}, 2),  # an idle share costs less than none
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "1000 100000\n"}, 1),
        ({"cpu.max": "9900000 100000\n"}, ALLOWED),
        ({"cpu.max": ""}, ALLOWED),
        ({"cpu.max": "many 100000\n"}, ALLOWED),
        (version_1("-1"), ALLOWED),
        (version_1("300000"), 3),
        (version_1("10000"), 1),
        (version_1("x"), ALLOWED),
    ],
    ids=str,
)
def test_a_quota_of_either_version_limits_the_cpu_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(ALLOWED)))
    (tmp_path / "cpu").mkdir()
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="ascii")
    assert usable_cores(tmp_path) == cores


@pytest.mark.parametrize(("count", "cores"), [(4, 4), (None, 1)])
def test_where_there_is_no_cpu_set_all_cores_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int | None, cores: int
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: count)
    assert usable_cores(tmp_path) == cores
