"""What counts as the published benchmark, what as other data, and what is refused as damaged."""

import shutil
from pathlib import Path

import pytest

from pipeline.machine.errors import InputError
from pipeline.senteval.known import HEAD_LINES, check, known_files
from pipeline.senteval.tasks import STS_TASKS, TRANSFER_TASKS
from tests.real import REAL, SAMPLE, needs_real_data


def copy(task: str, into: Path) -> Path:
    """The published files of a task in a folder of their own."""
    for file in known_files()[task]:
        target = into / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REAL / file.path, target)
    return into


def cut(path: Path, lines: int) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:lines]))


@needs_real_data
def test_the_files_of_all_fourteen_tasks_are_known_with_their_lines() -> None:
    assert set(known_files()) == {*STS_TASKS, *TRANSFER_TASKS}
    for file in (file for files in known_files().values() for file in files):
        assert file.lines == (REAL / file.path).read_bytes().count(b"\n"), file.path


@needs_real_data
@pytest.mark.parametrize("lines", [HEAD_LINES, 1000, 5330])
def test_a_published_file_that_was_cut_short_is_refused(tmp_path: Path, lines: int) -> None:
    cut(copy("MR", tmp_path) / "MR" / "rt-polarity.neg", lines)
    message = rf"rt-polarity\.neg was cut short: it has {lines:,} lines, the published file 5,331; "
    with pytest.raises(InputError, match=message + "get it with SentEval's get_transfer_data.bash"):
        check(tmp_path, "MR")


@needs_real_data
def test_a_published_file_that_lost_the_end_of_its_last_line_is_refused(tmp_path: Path) -> None:
    path = copy("TREC", tmp_path) / "TREC" / "TREC_10.label"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(InputError, match="cut short: it has 499 lines, the published file 500"):
        check(tmp_path, "TREC")


@needs_real_data
def test_a_published_file_with_an_altered_line_is_other_data(tmp_path: Path) -> None:
    path = copy("TREC", tmp_path) / "TREC" / "train_5500.label"
    path.write_bytes(path.read_bytes().replace(b"Russia", b"Prussia"))
    assert check(tmp_path, "TREC") == "other"


@needs_real_data
def test_files_that_no_score_needs_may_be_absent_or_other_but_not_cut_short(tmp_path: Path) -> None:
    folder = copy("STS-B", tmp_path) / "STS" / "STSBenchmark"
    (folder / "sts-train.csv").unlink()
    (folder / "sts-dev.csv").write_text("of one's own\n")
    assert check(tmp_path, "STS-B") == "benchmark"
    shutil.copy(REAL / "STS/STSBenchmark/sts-train.csv", folder)
    cut(folder / "sts-train.csv", 100)
    with pytest.raises(InputError, match=r"sts-train\.csv was cut short"):
        check(tmp_path, "STS-B")


def test_a_missing_file_is_named_with_its_lines_and_where_to_get_it(tmp_path: Path) -> None:
    shutil.copytree(SAMPLE / "TREC", tmp_path / "TREC")
    (tmp_path / "TREC" / "TREC_10.label").unlink()
    message = r"TREC_10\.label is missing; the published file has 500 lines: get it .* SimCSE's"
    with pytest.raises(InputError, match=message):
        check(tmp_path, "TREC")
