"""Which tasks are run: names, the two halves, and what a folder has."""

import re
from pathlib import Path

import pytest

from pipeline.machine.errors import InputError
from pipeline.senteval.tasks import STS_TASKS, TRANSFER_TASKS, read_sts, read_transfer, select
from tests.real import REAL, SAMPLE, needs_real_data

# Scored pairs of the STS test sets.
PUBLISHED_PAIRS = {
    "STS12": 3108,
    "STS13": 1500,
    "STS14": 3750,
    "STS15": 3000,
    "STS16": 1186,
    "STS-B": 1379,
    "SICK-R": 4927,
}
# Rows of each part of the transfer tasks, and how many of them have class 1.
PUBLISHED_ROWS = {
    "MR": {"all": (10662, 5331)},
    "CR": {"all": (3775, 2407)},
    "SUBJ": {"all": (10000, 5000)},
    "MPQA": {"all": (10606, 3312)},
    "SST2": {"train": (67349, 37569), "dev": (872, 444), "test": (1821, 909)},
    "TREC": {"train": (5452, 1162), "test": (500, 138)},
    "MRPC": {"train": (4076, 2753), "test": (1725, 1147)},
}


@needs_real_data
@pytest.mark.parametrize("task", STS_TASKS)
def test_the_sts_benchmark_has_its_published_pairs(task: str) -> None:
    data = read_sts(REAL, task)
    assert data.label == "benchmark"
    assert sum(map(len, data.subsets)) == PUBLISHED_PAIRS[task]


@needs_real_data
@pytest.mark.parametrize("task", TRANSFER_TASKS)
def test_the_transfer_benchmark_has_its_published_rows(task: str) -> None:
    data = read_transfer(REAL, task)
    assert data.label == "benchmark"
    rows = {part: (len(one), int((one.labels == 1).sum())) for part, one in data.parts.items()}
    assert rows == PUBLISHED_ROWS[task]


def test_the_sample_is_not_called_the_benchmark() -> None:
    data = read_transfer(SAMPLE, "TREC")
    assert data.label == "other"
    assert {part: len(examples) for part, examples in data.parts.items()} == {
        "train": 300,
        "test": 120,
    }


def test_tasks_are_run_once_and_in_their_own_order() -> None:
    assert select(SAMPLE, ["TREC", "CR", "MR", "TREC"]) == (("MR", "TREC"), ("CR",))


def test_a_half_stands_for_its_tasks_and_those_without_a_folder_are_missing() -> None:
    present, missing = select(SAMPLE, ["sts", "MR"])
    assert present == ("STS-B", "MR")
    assert missing == ("STS12", "STS13", "STS14", "STS15", "STS16", "SICK-R")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("STSB", r"; did you mean 'STS-B'\?"),
        ("mprc", r"; did you mean 'MRPC'\?"),
        ("sst-2", r"; did you mean 'SST2'\?"),
        ("transfr", r"; did you mean 'transfer'\?"),
        ("", r"\."),
    ],
)
def test_an_unknown_task_is_refused_with_the_nearest_name_if_there_is_one(
    name: str, hint: str
) -> None:
    message = rf"unknown task '{name}'{hint} Known: sts, transfer, STS12, .*, MRPC\."
    with pytest.raises(InputError, match=message):
        select(SAMPLE, ["MR", name])


@pytest.mark.parametrize(
    ("tasks", "such"),
    [(["STS-B", "STS12"], r"STS12, STS-B; .* STS/STS12-en-test/"), (["SST2"], "SST2; .* SST/bin")],
)
def test_a_folder_without_any_of_the_tasks_is_refused(
    tmp_path: Path, tasks: list[str], such: str
) -> None:
    message = f"holds none of {such}.* bring one in with python -m pipeline.fetch"
    with pytest.raises(InputError, match=message):
        select(tmp_path, tasks)


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing is not a folder"):
        select(tmp_path / "nothing", ["MR"])


def test_the_parent_of_downstream_is_told_which_folder_it_is(tmp_path: Path) -> None:
    inner = tmp_path / "downstream"
    (inner / "STS").mkdir(parents=True)
    sentence = f"data: {tmp_path} holds no STS/, but {inner} does; give {inner}."
    with pytest.raises(InputError, match=re.escape(sentence)):
        select(tmp_path, ["sts"])
