"""Cores: a container's quota and the CPU set count."""

import os
from pathlib import Path

import pytest

from pipeline.machine.cores import usable_cores

ALLOWED = 8  # cores


@pytest.fixture
def _eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(ALLOWED)))


def write(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(content, encoding="ascii")
    return root


@pytest.mark.usefixtures("_eight_cores")
@pytest.mark.parametrize(
    ("content", "cores"),
    [
        ("max 100000\n", ALLOWED),
        ("200000 100000\n", 2),
        ("150000 100000\n", 2),  # an idle share costs less than none
        ("50000 100000\n", 1),
        ("1000 100000\n", 1),
        ("9900000 100000\n", ALLOWED),
        ("", ALLOWED),
        ("many 100000\n", ALLOWED),
    ],
)
def test_a_quota_of_version_2_counts(tmp_path: Path, content: str, cores: int) -> None:
    assert usable_cores(write(tmp_path, {"cpu.max": content})) == cores


@pytest.mark.usefixtures("_eight_cores")
@pytest.mark.parametrize(
    ("quota", "cores"), [("-1", ALLOWED), ("300000", 3), ("10000", 1), ("x", ALLOWED)]
)
def test_a_quota_of_version_1_counts(tmp_path: Path, quota: str, cores: int) -> None:
    files = {"cpu/cpu.cfs_quota_us": f"{quota}\n", "cpu/cpu.cfs_period_us": "100000\n"}
    assert usable_cores(write(tmp_path, files)) == cores


@pytest.mark.usefixtures("_eight_cores")
def test_without_control_groups_the_cpu_set_counts(tmp_path: Path) -> None:
    assert usable_cores(tmp_path) == ALLOWED


def test_where_there_is_no_cpu_set_all_cores_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert usable_cores(tmp_path) == 4
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores(tmp_path) == 1
