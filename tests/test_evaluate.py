"""The evaluate stage: what it writes, that equal runs write equal bytes, what it refuses."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.encoder.version import folder_version
from pipeline.evaluate import main
from pipeline.results.runs import read_runs
from tests.tiny import BERT_MINI, ROOT, SAMPLE, Refused

REFERENCE = ROOT / "encoders" / "reference" / "vicreg"


def run(*more: str, out: Path, encoder: Path = BERT_MINI, data: Path = SAMPLE) -> int:
    paths = ["--encoder", str(encoder), "--data", str(data), "--out", str(out)]
    return main([*paths, "--device", "cpu", *more])


@pytest.fixture(scope="module")
def written(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `first` and `second`, metrics and scores of two equal runs."""
    folder = tmp_path_factory.mktemp("evaluate")
    for name in ("first", "second"):
        options = ["--scores", str(folder / f"{name}.npz"), "--batch-size", "32"]
        options += ["--tasks", "sts,transfer", "--setting", "fast"]
        assert run(*options, out=folder / f"{name}.json", encoder=tiny_bert) == 0
    return folder


@pytest.fixture
def content(written: Path) -> Any:
    return json.loads((written / "first.json").read_text(encoding="utf-8"))


class TestFiles:
    def test_equal_runs_write_equal_bytes(self, written: Path) -> None:
        assert len(list(written.iterdir())) == 4  # nothing half-written is left
        for suffix in ("json", "npz"):
            first, second = (
                (written / f"{name}.{suffix}").read_bytes() for name in ("first", "second")
            )
            assert first == second

    def test_the_mean_of_all_tokens_is_measured_besides_as_if_alone(
        self, tmp_path: Path, tiny_bert: Path
    ) -> None:
        both, mean, alone = (tmp_path / f"{name}.json" for name in ("both", "mean", "alone"))
        assert run("--mean-out", str(mean), "--tasks", "STS-B", out=both, encoder=tiny_bert) == 0
        assert run("--pooling", "mean", "--tasks", "STS-B", out=alone, encoder=tiny_bert) == 0
        assert mean.read_bytes() == alone.read_bytes() != both.read_bytes()

    def test_a_backbone_may_be_an_encoder_that_was_trained_before(self, tmp_path: Path) -> None:
        """Its record has the dev score of its own pooling; so both poolings are scored."""
        own, mean = tmp_path / "untrained.json", tmp_path / "untrained_mean.json"
        asked = ["--mean-out", str(mean), "--tasks", "STS-B", "--dev", str(SAMPLE)]
        assert run(*asked, out=own, encoder=REFERENCE) == 0
        first, second = (json.loads(path.read_text("utf-8")) for path in (own, mean))
        assert first["dev_spearman"] != second["dev_spearman"]
        first_run = tmp_path / "vicreg" / "42.json"
        first_run.parent.mkdir()
        shutil.copy(own, first_run)
        runs = read_runs(tmp_path, None, None)
        assert list(runs) == ["vicreg", "untrained", "untrained_mean"]

    def test_metrics_say_who_was_measured_on_what(self, content: Any, tiny_bert: Path) -> None:
        assert content["encoder"] == "tiny-bert"
        assert content["version"] == folder_version(tiny_bert)
        assert content["objective"] is content["seed"] is None
        assert content["data"] == "sample"
        assert content["tasks"] == ["STS-B", "MR", "TREC"]
        missing = ["STS12", "STS13", "STS14", "STS15", "STS16", "SICK-R"]
        assert content["missing"] == [*missing, "CR", "SUBJ", "MPQA", "SST2", "MRPC"]
        assert (content["setting"], content["classifier"]) == ("fast", "mlp")


def test_a_pretrained_backbone_beats_chance_on_the_sample_and_the_terminal_shows_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--tasks", "STS-B,TREC,CR", "--setting", "fast", out=tmp_path / "out.json") == 0
    content = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    score = content["sts"]["STS-B"]
    assert score["pairs"] == score["subsets"]["test"]["pairs"] == 300
    assert score["spearman"] == content["average"] > 40
    assert content["transfer"]["TREC"]["accuracy"] > 100 / 6
    shown = capsys.readouterr()
    assert f"{BERT_MINI.name}: correlation of cosine and gold x 100" in shown.out
    assert f"{BERT_MINI.name}: accuracy in %, setting fast, classifier mlp" in shown.out
    assert shown.out.splitlines()[-2] == f"Missing, no data in {SAMPLE}: CR."
    note = f"as the files in {SAMPLE} are not the benchmark's: STS-B, TREC."
    assert shown.out.splitlines()[-1] == f"Not to be put beside published numbers, {note}"


@pytest.mark.parametrize(
    ("options", "changes", "message"),
    [
        ([], {"encoder": "nobody"}, "nobody: no folder here, and no model id"),
        ([], {"data": "nothing"}, "nothing is not a folder"),
        (["--tasks", "sts,STSB"], {}, "unknown task 'STSB'; did you mean 'STS-B'?"),
        ([], {"out": BERT_MINI / "metrics.json"}, "lies in the encoder's folder"),
        (["--scores", "out.json"], {}, "lies in what --"),
    ],
)
def test_what_cannot_be_measured_is_one_sentence_and_leaves_no_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    refused: Refused,
    options: list[str],
    changes: dict[str, Any],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    usual: dict[str, Any] = {"out": "out.json", "encoder": BERT_MINI, "data": SAMPLE}
    paths = {key: Path(path) for key, path in (usual | changes).items()}
    sentence = refused(run(*options, **paths))
    assert sentence.startswith("evaluate: ")
    assert message in sentence
    assert list(tmp_path.iterdir()) == []
