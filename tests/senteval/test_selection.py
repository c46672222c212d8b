"""Which tasks are run: names, groups of names, and what a folder has."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.machine.errors import InputError
from pipeline.senteval.benchmark import FOLDERS, HALVES
from pipeline.senteval.selection import select

SAMPLE = Path(__file__).parents[1] / "sample"


def test_tasks_are_run_once_and_in_their_own_order() -> None:
    assert select(SAMPLE, ["TREC", "CR", "MR", "TREC"], FOLDERS) == (("MR", "TREC"), ("CR",))


def test_a_group_stands_for_its_tasks_and_those_without_a_folder_are_missing() -> None:
    present, missing = select(SAMPLE, ["sts", "MR"], FOLDERS, HALVES)
    assert present == ("STS-B", "MR")
    assert missing == ("STS12", "STS13", "STS14", "STS15", "STS16", "SICK-R")


@pytest.mark.parametrize(
    ("given", "meant"),
    [("STSB", "STS-B"), ("mprc", "MRPC"), ("sst-2", "SST2"), ("transfr", "transfer")],
)
def test_an_unknown_task_is_refused_with_the_nearest_name(given: str, meant: str) -> None:
    message = rf"task '{given}'; did you mean '{meant}'\? Known: sts, transfer, STS12, .*, MRPC\."
    with pytest.raises(InputError, match=message):
        select(SAMPLE, ["MR", given], FOLDERS, HALVES)


def test_a_name_unlike_any_other_is_refused_without_a_guess() -> None:
    with pytest.raises(InputError, match=r"unknown task ''\. Known: sts"):
        select(SAMPLE, [""], FOLDERS, HALVES)


@pytest.mark.parametrize(
    ("tasks", "such"),
    [(["STS-B", "STS12"], r"STS12, STS-B; .* STS/STS12-en-test/"), (["SST2"], "SST2; .* SST/bin")],
)
def test_a_folder_without_any_of_the_tasks_is_refused(
    tmp_path: Path, tasks: list[str], such: str
) -> None:
    message = f"holds none of {such}.* bring one in with python -m pipeline.fetch"
    with pytest.raises(InputError, match=message):
        select(tmp_path, tasks, FOLDERS)


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing is not a folder"):
        select(tmp_path / "nothing", ["MR"], FOLDERS)
