"""The folder appears whole or not at all; the stage on the command line."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline import prepare as stage
from pipeline.data.prepared import Meta, Report
from pipeline.data.tokens import TokenArrays
from pipeline.machine.errors import InputError
from pipeline.prepare import main
from tests.prepare.lab import BERT, LENGTH, contents, run


def test_an_error_leaves_earlier_output_untouched_and_nothing_beside_it(
    corpus: Path, tmp_path: Path
) -> None:
    run(corpus, tmp_path / "out")
    before = contents(tmp_path)
    with pytest.raises(InputError, match="fewer than one batch"):
        run(corpus, tmp_path / "out", minimum=1000)
    with pytest.raises(InputError, match="does not exist"):
        run(tmp_path / "nowhere.txt", tmp_path / "out")
    assert contents(tmp_path) == before


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("earlier", [True, False])
def test_a_failure_while_writing_leaves_no_trace(
    error: BaseException,
    earlier: bool,
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if earlier:
        run(corpus, tmp_path / "out")
    before, names = contents(tmp_path), sorted(tmp_path.iterdir())
    save = TokenArrays.save

    def fail(arrays: TokenArrays, folder: Path) -> None:
        save(arrays, folder)
        if folder.name == "held_out":
            raise error

    monkeypatch.setattr(TokenArrays, "save", fail)
    with pytest.raises(type(error)):
        run(corpus, tmp_path / "out", seed=9)
    assert contents(tmp_path) == before
    assert sorted(tmp_path.iterdir()) == names


def test_earlier_output_comes_back_if_the_new_one_cannot_take_its_place(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(corpus, tmp_path / "out")
    before = contents(tmp_path)
    rename = Path.rename

    def fail(path: Path, target: Path) -> Path:
        if path.name == ".out.unfinished":
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(KeyboardInterrupt):
        run(corpus, tmp_path / "out", seed=9)
    assert contents(tmp_path) == before


def test_new_output_replaces_all_of_the_old_and_what_a_killed_run_left(
    corpus: Path, tmp_path: Path
) -> None:
    run(corpus, tmp_path / "out")
    for left in ("out/old.bin", ".out.unfinished/half.npy", ".out.replaced/half.npy"):
        (tmp_path / left).parent.mkdir(exist_ok=True)
        (tmp_path / left).touch()
    run(corpus, tmp_path / "out", seed=9)
    run(corpus, tmp_path / "again", seed=9)
    assert contents(tmp_path / "out") == contents(tmp_path / "again")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "corpus.txt", "out"]


def test_a_folder_that_holds_something_else_is_not_replaced(corpus: Path, tmp_path: Path) -> None:
    for out in (tmp_path, corpus):
        with pytest.raises(InputError, match="exists and is no prepared folder; name a new"):
            run(corpus, out)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]


@pytest.fixture
def command(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A command line whose params.yaml names the corpus above."""
    params = SimpleNamespace(
        corpus=SimpleNamespace(
            source=str(corpus), revision=None, column="text", held_out=0.1, seed=3
        ),
        backbone=SimpleNamespace(source=str(BERT)),
        train=SimpleNamespace(max_length=LENGTH, batch_size=54),
    )
    monkeypatch.setattr("pipeline.config.load.load", lambda path: params)
    out, report = tmp_path / "data/prepared", tmp_path / "metrics/report.json"
    return ["--params", "params.yaml", "--out", str(out), "--report", str(report)]


def test_the_stage_writes_folder_and_report(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 0
    written = (tmp_path / "metrics/report.json").read_bytes()
    report = json.loads(written)
    assert Report(**report).held_out == Meta.load(tmp_path / "data/prepared").held_out == 6
    assert "54 sentences to train on, 6 held out; 1 empty and 2" in capsys.readouterr().out
    assert main(command) == 0
    assert (tmp_path / "metrics/report.json").read_bytes() == written


def test_a_failing_stage_says_one_sentence_and_writes_nothing(
    command: list[str], corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus.write_bytes(b"a\nb\0\n")
    assert main(command) == 1
    error = capsys.readouterr().err
    assert error.startswith("prepare: corpus.source: ")
    assert "a NUL byte (line 2, byte 3)" in error
    assert error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]


@pytest.mark.parametrize("place", [3, 5], ids=["--out", "--report"])
def test_an_output_that_cannot_be_written_is_one_sentence(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], place: int
) -> None:
    command[place] = str(tmp_path / "corpus.txt" / "below")
    before = (tmp_path / "corpus.txt").read_bytes()
    assert main(command) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"prepare: {command[place]}: cannot be written (")
    assert error.count("\n") == 1
    assert (tmp_path / "corpus.txt").read_bytes() == before


def test_an_interrupted_stage_is_told_apart(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stage, "read", interrupt)
    assert main(command) == 130
    assert capsys.readouterr().err.startswith("prepare: interrupted; ")
