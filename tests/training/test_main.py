"""The training stage on the command line: what it says, refuses and leaves."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.machine.errors import WriteError
from pipeline.train import main
from pipeline.training.dev import DevSet
from tests.tiny import change_json, contents
from tests.training.lab import STEPS, Lab, make_lab, one_line, record, rows, written


def test_it_says_what_was_reached_and_where_it_lies(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lab.main(tmp_path) == 0
    *_, last = capsys.readouterr().out.splitlines()
    best = record(tmp_path)["best"]
    assert last == (
        f"info_nce-1: dev Spearman {float(rows(tmp_path)[-1]['dev_spearman']):.2f} at the last "
        f"step, {best['dev_spearman']:.2f} at step {best['step']}, the best; the best one is "
        f"written to {tmp_path / 'models/model'}."
    )
    written(tmp_path)


def test_the_best_steps_encoder_may_be_written_beside_the_last_ones(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = [70.0, 50.0, 60.0, 55.0, 40.0]  # after steps 0, 1, 2, 4 and 6
    kept = {}
    for keep, beside in (("last", ["--best", str(tmp_path / "beside")]), ("best", [])):
        monkeypatch.setattr(DevSet, "scorer", lambda *_: iter(scores).__next__)
        command = lab.arguments(tmp_path / keep, changes={"train.keep": keep})
        assert main([*command, *beside]) == 0
        kept[keep] = contents(tmp_path / keep / "models/model")
    assert contents(tmp_path / "beside") == kept["best"]
    best, last = record(tmp_path / "best"), record(tmp_path / "last")
    assert best["kept"] == best["best"] == last["best"] == {"step": 2, "dev_spearman": 60.0}
    assert last["kept"] == {"step": STEPS, "dev_spearman": 40.0}
    assert kept["last"]["model.safetensors"] != kept["best"]["model.safetensors"]


def test_an_empty_folder_and_an_earlier_encoder_are_replaced(lab: Lab, tmp_path: Path) -> None:
    model = tmp_path / "models/model"
    model.mkdir(parents=True)
    assert lab.main(tmp_path, "vicreg") == 0
    (model / "stray").touch()
    assert lab.main(tmp_path) == 0
    assert record(tmp_path)["objective"] == "info_nce"
    assert not (model / "stray").exists()


@pytest.mark.parametrize("name", ["info_nce", "vicreg"])
def test_a_collapse_is_explained_and_leaves_what_an_earlier_run_wrote(
    lab: Lab, finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    assert lab.main(tmp_path, name, changes={"train.learning_rate": 1e6}) == 1
    line = one_line(capsys)
    assert line.startswith(f"train: {name} with seed 1 collapsed: ")
    assert "Try a lower learning rate (now 1000000.0), or another margin" in line
    assert written(tmp_path) == written(finished)


def test_a_full_disk_leaves_neither_encoder_nor_curve_and_can_be_resumed(
    lab: Lab, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pipeline.train.write_record", full)
        with pytest.raises(WriteError, match="model: the disk is full"):
            lab.train(tmp_path)
    assert list((tmp_path / "models").iterdir()) == []
    assert not (tmp_path / "curve.csv").exists()
    lab.train(tmp_path)
    assert written(tmp_path) == written(finished)


@pytest.mark.parametrize(
    ("name", "seed", "changes", "expected"),
    [
        ("info_nce", 1, {"train.max_length": 9}, ", 16, but params.yaml says"),
        (
            "info_nce",
            1,
            {"corpus.source": "mine.txt", "corpus.watch": "mine.txt"},
            "but params.yaml says mine.txt, ",
        ),
        ("info_nce", 1, {"train.batch_size": 9999}, "2620 sentences are fewer than one batch"),
        ("info_nce", 1, {"train.device": "cuda:99"}, "'cuda:99' cannot be used here"),
        ("info_nce", 1, {"train.dev": "nowhere.csv"}, "nowhere.csv is missing"),
        ("info_nce", 1, {"train.capture": True}, "train.capture: true, but train.device is cpu"),
        ("info_nce", -1, {}, "--seed: -1 is out of range; give a whole number from 0"),
        ("info_nce", 2**32, {}, "--seed: 4294967296 is out of range; give a whole number"),
        ("vicregg", 1, {}, "unknown objective 'vicregg'; did you mean 'vicreg'? Known: info_"),
        ("x", 1, {"objectives.x": {"loss": "a:B"}}, "objectives.x.loss: a:B cannot be imported"),
    ],
)
def test_what_cannot_work_is_one_sentence(
    lab: Lab,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    seed: int,
    changes: dict[str, Any],
    expected: str,
) -> None:
    assert lab.main(tmp_path, name, seed, changes) == 1
    assert expected in one_line(capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["params.yaml"]


@pytest.mark.parametrize(
    ("option", "place", "sentence"),
    [
        ("--model", "thesis", r"is no encoder of Triad's \(it has no triad\.json\); name a new"),
        ("--best", "thesis", r"is no encoder of Triad's \(it has no triad\.json\); name a new"),
        ("--model", "thesis/work.txt", "is a file; name a folder"),
        ("--checkpoints", "thesis/work.txt", "cannot be written, as .* is a file"),
        ("--curve", "thesis", "is a folder; name a file"),
        ("--dynamics", "curve.csv", "lies in what --curve writes; keep them apart"),
        ("--best", "models/model", "lies in what --model writes; keep them apart"),
        ("--curve", "models/model/curve.csv", "lies in what --model writes"),
    ],
)
def test_a_place_that_cannot_be_written_or_holds_something_else_is_refused(
    lab: Lab,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    option: str,
    place: str,
    sentence: str,
) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/work.txt").write_bytes(b"years of work")
    command = [*lab.arguments(tmp_path), option, str(tmp_path / place)]
    before = contents(tmp_path)
    assert main(command) == 1
    assert re.match(f"train: {option}: .*{sentence}", one_line(capsys))
    assert contents(tmp_path) == before


def test_a_backbone_without_dropout_is_refused(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change_json(own / "config.json", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    assert make_lab(own, tmp_path / "prepared").main(tmp_path) == 1
    assert f"backbone.source: {own} has no dropout, so both" in one_line(capsys)


def test_data_prepared_for_another_backbone_is_refused(
    lab: Lab, roberta_lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Lab(lab.backbone, roberta_lab.prepared).main(tmp_path) == 1
    assert "run `dvc repro prepare`" in one_line(capsys)
