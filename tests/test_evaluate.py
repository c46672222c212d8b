"""The evaluate stage: what it writes, that equal runs write equal bytes, what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.encoder.version import folder_version
from pipeline.evaluate import identify, main
from pipeline.machine.files import write_atomically
from pipeline.results.metrics import Measured, average_label, data_name, metrics, scores_archive
from pipeline.senteval.benchmark import Result
from pipeline.senteval.sts import STS_TASKS, StsResult, SubsetScore, TaskScore
from pipeline.senteval.transfer import TransferResult, TransferScore
from pipeline.senteval.transfer_readers import TRANSFER_TASKS

ROOT = Path(__file__).parents[1]
BACKBONE = ROOT / "backbones" / "bert-mini-wiki"
SAMPLE = ROOT / "data" / "sample"


def run(out: Path, *more: str, encoder: Path = BACKBONE, data: Path = SAMPLE) -> int:
    paths = ["--encoder", str(encoder), "--data", str(data), "--out", str(out)]
    return main([*paths, "--device", "cpu", *more])


def task_score(task: str, cosine: list[float]) -> TaskScore:
    return TaskScore(
        task=task,
        spearman=60.1234567,
        pearson=50,
        subsets={"a": SubsetScore(10, 1), "b": SubsetScore(40, 2)},
        cosine=np.array(cosine),
        gold=np.array([1.0, 2, 3]),
        label="other",
    )


def transfer_score(task: str, accuracy: float, seconds: float = 1) -> TransferScore:
    return TransferScore(
        task=task,
        accuracy=accuracy,
        dev_accuracy=70.5,
        f1=81.25 if task == "MRPC" else None,
        strengths=(1e-05,),
        counts={"train": 4076, "test": 1725},
        label="benchmark",
        encoding_seconds=seconds,
        classifier_seconds=seconds,
    )


def result(
    sts: tuple[TaskScore, ...] = (),
    transfer: tuple[TransferScore, ...] = (),
    missing: tuple[str, ...] = (),
) -> Result:
    return Result(StsResult(sts, missing), TransferResult(transfer, ()), "test", "mlp")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `first` and `second`, metrics and scores of two equal runs."""
    folder = tmp_path_factory.mktemp("evaluate")
    for name in ("first", "second"):
        options = ["--scores", str(folder / f"{name}.npz"), "--batch-size", "32"]
        options += ["--tasks", "sts,transfer", "--setting", "fast"]
        assert run(folder / f"{name}.json", *options) == 0
    return folder


@pytest.fixture
def content(written: Path) -> Any:
    return json.loads((written / "first.json").read_text(encoding="utf-8"))


class TestFiles:
    def test_equal_runs_write_equal_bytes(self, written: Path) -> None:
        for suffix in ("json", "npz"):
            first, second = (
                (written / f"{name}.{suffix}").read_bytes() for name in ("first", "second")
            )
            assert first == second

    def test_metrics_say_who_was_measured_on_what(self, content: Any) -> None:
        assert content["encoder"] == "bert-mini-wiki"
        assert content["version"] == folder_version(BACKBONE)
        assert content["objective"] is content["seed"] is None
        assert content["data"] == "sample"
        assert content["tasks"] == ["STS-B", "MR", "TREC"]
        missing = ["STS12", "STS13", "STS14", "STS15", "STS16", "SICK-R"]
        assert content["missing"] == [*missing, "CR", "SUBJ", "MPQA", "SST2", "MRPC"]
        assert (content["setting"], content["classifier"]) == ("fast", "mlp")

    def test_a_pretrained_backbone_beats_chance_on_the_sample(self, content: Any) -> None:
        score = content["sts"]["STS-B"]
        assert score["pairs"] == score["subsets"]["test"]["pairs"] == 300
        assert score["spearman"] == content["average"] > 40
        assert content["transfer"]["TREC"]["accuracy"] > 100 / 6

    def test_the_sample_is_labelled_as_not_the_benchmark(self, content: Any) -> None:
        for half in ("sts", "transfer"):
            assert {task["label"] for task in content[half].values()} == {"other"}

    def test_quantiles_are_those_of_the_cosines(self, written: Path, content: Any) -> None:
        with np.load(written / "first.npz") as archive:
            cosine, gold = archive["STS-B/cosine"], archive["STS-B/gold"]
        quantiles = content["cosine_quantiles"]
        assert (cosine.shape, gold.shape, len(quantiles)) == ((300,), (300,), 101)
        assert quantiles[0] == pytest.approx(cosine.min(), abs=1e-6)
        assert quantiles[50] == pytest.approx(np.median(cosine), abs=1e-6)
        assert quantiles[100] == pytest.approx(cosine.max(), abs=1e-6)

    def test_the_encoders_folder_is_left_as_it_was(self, content: Any) -> None:
        assert content["version"] == folder_version(BACKBONE)

    def test_nothing_half_written_is_left(self, written: Path) -> None:
        names = {path.name for path in written.iterdir()}
        assert names == {"first.json", "first.npz", "second.json", "second.npz"}

    def test_a_failed_write_keeps_the_old_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "metrics.json"
        write_atomically(path, b"old")

        def fail(*_: object) -> None:
            raise OSError("disk full")

        monkeypatch.setattr(Path, "replace", fail)
        with pytest.raises(OSError, match="disk full"):
            write_atomically(path, b"new")
        assert path.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [path]


class TestContent:
    MEASURED = Measured("vicreg-1", "abc", "vicreg", 1)

    def test_floats_are_rounded_and_means_are_over_subsets(self) -> None:
        """Subsets 10 (1 pair) and 40 (2 pairs): mean 25, weighted (10 + 80) / 3 = 30."""
        measured = result((task_score("STS12", [0.1, 0.2, 0.3]),))
        found = metrics(self.MEASURED, measured, SAMPLE)["sts"]["STS12"]
        assert found["spearman"] == 60.123457
        assert (found["mean"], found["weighted_mean"], found["pairs"]) == (25, 30, 3)

    def test_quantiles_are_over_the_pairs_of_all_tasks(self) -> None:
        scores = (task_score("STS12", [0.0, 0.1, 0.2]), task_score("STS13", [0.3, 0.4, 1.0]))
        quantiles = metrics(self.MEASURED, result(scores), SAMPLE)["cosine_quantiles"]
        assert (quantiles[0], quantiles[50], quantiles[100]) == (0.0, 0.25, 1.0)

    def test_only_all_seven_tasks_make_an_average_of_seven(self) -> None:
        assert average_label(list(STS_TASKS)) == "avg of seven"
        assert average_label(list(TRANSFER_TASKS)) == "avg of seven"
        assert average_label(["STS12", "STS-B"]) == "avg of 2: STS12, STS-B"
        assert average_label([*STS_TASKS[:4], *TRANSFER_TASKS[:3]]).startswith("avg of 7: ")

    def test_a_transfer_task_is_written_with_all_that_its_score_depends_on(self) -> None:
        scores = (transfer_score("TREC", 80.0), transfer_score("MRPC", 75.5))
        found = metrics(self.MEASURED, result(transfer=scores), SAMPLE)
        assert (found["setting"], found["classifier"]) == ("test", "mlp")
        assert found["transfer"]["MRPC"] == {
            "accuracy": 75.5,
            "dev_accuracy": 70.5,
            "f1": 81.25,
            "strengths": [1e-05],
            "counts": {"train": 4076, "test": 1725},
            "label": "benchmark",
        }
        assert "f1" not in found["transfer"]["TREC"]
        assert found["transfer_average"] == 77.75
        assert found["transfer_average_label"] == "avg of 2: TREC, MRPC"

    def test_a_half_that_did_not_run_leaves_no_figures(self) -> None:
        always = {"encoder", "version", "objective", "seed", "data", "tasks", "missing"}
        transfer = metrics(self.MEASURED, result(transfer=(transfer_score("MR", 80),)), SAMPLE)
        added = {"setting", "classifier", "transfer"}
        assert set(transfer) == always | added | {"transfer_average", "transfer_average_label"}
        sts = metrics(self.MEASURED, result((task_score("STS12", [0.1, 0.2, 0.3]),)), SAMPLE)
        assert set(sts) == always | {"sts", "average", "average_label", "cosine_quantiles"}

    def test_wall_times_are_not_written(self) -> None:
        slow, fast = (
            metrics(self.MEASURED, result(transfer=(transfer_score("MR", 80, seconds),)), SAMPLE)
            for seconds in (100, 1)
        )
        assert slow == fast

    def test_downstream_is_named_after_its_parent(self) -> None:
        assert data_name(Path("senteval/downstream")) == data_name(Path("senteval")) == "senteval"

    def test_scores_keep_each_tasks_pairs_apart(self, tmp_path: Path) -> None:
        scores = StsResult((task_score("STS12", [0.0, 0.1, 0.2]),), ())
        path = tmp_path / "scores.npz"
        path.write_bytes(scores_archive(scores))
        with np.load(path) as archive:
            assert archive["STS12/cosine"].tolist() == [0.0, 0.1, 0.2]
            assert archive["STS12/gold"].tolist() == [1.0, 2.0, 3.0]


class TestIdentity:
    def test_an_encoder_of_triad_is_named_by_objective_and_seed(self, tmp_path: Path) -> None:
        best = {"step": 50, "dev_spearman": 61.5}
        card = {"objective": "vicreg", "seed": 7, "backbone": "x", "best": best}
        (tmp_path / "triad.json").write_text(json.dumps(card), encoding="utf-8")
        found = identify(tmp_path)
        assert (found.encoder, found.objective, found.seed) == ("vicreg-7", "vicreg", 7)
        assert found.dev_spearman == 61.5

    def test_another_encoder_is_named_by_its_folder(self, tmp_path: Path) -> None:
        found = identify(tmp_path)
        assert (found.encoder, found.dev_spearman) == (tmp_path.name, None)

    @pytest.mark.parametrize("text", ["{", "[]"])
    def test_a_broken_card_is_refused(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "triad.json").write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=r"triad\.json is no record of a training run"):
            identify(tmp_path)


def test_bad_data_fails_before_an_encoder_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(SAMPLE / "STS", tmp_path / "STS")
    (tmp_path / "MRPC").mkdir()
    monkeypatch.setattr("pipeline.evaluate.SentenceEncoder.load", lambda *_: pytest.fail("loaded"))
    assert run(tmp_path / "out.json", "--tasks", "sts,transfer", data=tmp_path) == 1
    assert "msr_paraphrase_train.txt is missing" in capsys.readouterr().err


def test_both_halves_and_what_to_know_of_them_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--tasks", "STS-B,TREC,CR", "--setting", "fast", "--classifier", "logistic"]
    assert run(tmp_path / "out.json", *options) == 0
    shown = capsys.readouterr()
    assert "bert-mini-wiki: correlation of cosine and gold x 100" in shown.out
    assert "bert-mini-wiki: accuracy in %, setting fast, classifier logistic" in shown.out
    assert "TREC: classifiers" in shown.err
    assert shown.out.splitlines()[-2] == f"Missing, no data in {SAMPLE}: CR."
    assert shown.out.splitlines()[-1].endswith("are not the benchmark's: STS-B, TREC.")


def test_transfer_tasks_alone_leave_scores_of_no_pairs(tmp_path: Path) -> None:
    out, scores = tmp_path / "out.json", tmp_path / "scores.npz"
    options = ["--tasks", "TREC", "--setting", "fast", "--scores", str(scores)]
    assert run(out, *options) == 0
    assert "cosine_quantiles" not in json.loads(out.read_text(encoding="utf-8"))
    with np.load(scores) as archive:
        assert archive.files == []


class TestExitCode1WithOneSentence:
    def refused(self, capsys: pytest.CaptureFixture[str]) -> str:
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        return captured.err

    def test_for_a_missing_encoder(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(tmp_path / "out.json", encoder=tmp_path / "nobody") == 1
        assert "evaluate: encoder: " in (sentence := self.refused(capsys))
        assert "nobody is no encoder's folder" in sentence
        assert list(tmp_path.iterdir()) == []

    def test_for_a_missing_data_folder(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(tmp_path / "out.json", data=tmp_path / "nothing") == 1
        assert "nothing is not a folder" in self.refused(capsys)

    @pytest.mark.parametrize(
        ("tasks", "message"),
        [
            ("STS12,SICK-R", "holds none of STS12, SICK-R"),
            ("sts,STSB", "unknown task 'STSB'; did you mean 'STS-B'?"),
            ("CR,MRPC", "holds none of CR, MRPC"),
            ("transfr", "unknown task 'transfr'; did you mean 'transfer'?"),
            ("", "unknown task ''"),
        ],
    )
    def test_for_tasks_that_cannot_run(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], tasks: str, message: str
    ) -> None:
        assert run(tmp_path / "out.json", "--tasks", tasks) == 1
        assert message in self.refused(capsys)

    def test_for_an_output_in_the_encoders_folder(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(BACKBONE / "metrics.json") == 1
        assert "lies in the encoder's folder" in self.refused(capsys)

    @pytest.mark.parametrize(
        ("scores", "message"),
        [
            ("out.json", "lies in what --"),
            ("", "--scores: {folder} is a folder; name a file"),
            ("file/scores.npz", "cannot be written, as {folder}/file is a file"),
        ],
    )
    def test_for_an_output_that_cannot_be_written(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], scores: str, message: str
    ) -> None:
        (tmp_path / "file").touch()
        out = tmp_path / "out.json" if scores else tmp_path.parent / "out.json"
        assert run(out, "--scores", str(tmp_path / scores)) == 1
        assert message.format(folder=tmp_path) in self.refused(capsys)
        assert not out.exists()

    @pytest.mark.parametrize("size", ["0", "-1", "many"])
    def test_a_batch_size_below_one_is_a_usage_error(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], size: str
    ) -> None:
        with pytest.raises(SystemExit, match="2"):
            run(tmp_path / "out.json", f"--batch-size={size}")
        assert "is not a whole number from 1 on" in capsys.readouterr().err
