"""What a stage would refuse is refused before any stage starts."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.check import main
from tests.tiny import SAMPLE, write_params


def check(folder: Path, backbone: Path, **changes: Any) -> int:
    own = {f"backbone.{key}": str(backbone) for key in ("source", "watch")}
    own |= {f"corpus.{key}": str(SAMPLE / "corpus.txt") for key in ("source", "watch")}
    path = write_params(folder / "params.yaml", own | changes)
    return main(["--params", str(path), "--out", str(folder / "checked")])


def test_usable_settings_leave_a_mark_that_is_always_the_same(
    tiny_bert: Path, tmp_path: Path
) -> None:
    """So that no later stage runs because of it."""
    assert check(tmp_path, tiny_bert) == 0
    first = (tmp_path / "checked").read_bytes()
    assert check(tmp_path, tiny_bert, **{"train.batch_size": 16}) == 0
    assert (tmp_path / "checked").read_bytes() == first


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"compare.resamples": 50}, "compare.resamples: 50 is out of range"),
        ({"corpus.source": "absent.txt"}, "absent.txt"),
        ({"train.batch_size": 9999}, "distinct sentences, 0 of them held out, are fewer than one"),
        ({"train.max_length": 999}, "train.max_length"),
        ({"train.device": "cuda:99"}, "device: 'cuda:99' cannot be used here"),
        ({"train.dev": "nowhere.csv"}, "nowhere.csv is missing"),
        (
            {"train.device": "cpu", "train.capture": True},
            "train.capture: true, but train.device is",
        ),
        ({"train.track": "mlflow"}, "train.track: mlflow is not installed"),
        ({"train.launcher": "torchrunn --standalone"}, "'torchrunn --standalone' is no program"),
        ({"evaluate.data": str(SAMPLE / "absent")}, "absent"),
        ({"backbone.source": "absent", "backbone.watch": "absent"}, "absent"),
        (
            {"objectives.mine": {"loss": "nowhere:Loss"}, "runs.objectives": ["mine"]},
            "nowhere:Loss",
        ),
        ({"objectives.vicreg.train": {"batch_size": 9999}}, "fewer than one batch of 9999"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_cannot_be_used_is_one_sentence(
    tiny_bert: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, Any],
    message: str,
) -> None:
    assert check(tmp_path, tiny_bert, **changes) == 1
    said = capsys.readouterr().err
    assert said.startswith("check: ")
    assert message in said
    assert not (tmp_path / "checked").exists()


def test_the_tokenizer_is_that_of_the_backbones_revision(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else an offline cache with that revision alone would not do."""
    taken = []
    for name in ("build", "load_tokenizer"):
        monkeypatch.setattr(f"pipeline.check.{name}", lambda *given: taken.append(given[-1]))
    asked = {"backbone.source": "owner/name", "backbone.watch": "-", "backbone.revision": "v1"}
    assert check(tmp_path, tiny_bert, **asked) == 0
    assert taken[-1] == "v1"


def test_pairs_that_would_all_pick_the_step_are_refused(
    tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("sentence1,sentence2,score\na,b,1\nc,d,2\ne,f,4\n", encoding="utf-8")
    tables = {"train.dev": str(pairs), "evaluate.data": str(pairs), "evaluate.tasks": "sts"}
    for keep, status in (("last", 0), ("best", 1)):
        assert check(tmp_path, tiny_bert, **tables, **{"train.keep": keep}) == status
    assert "all its pairs picked the encoder's step" in capsys.readouterr().err
