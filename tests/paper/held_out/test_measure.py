"""The measuring stage: what it embeds and writes, that equal runs write equal bytes, refusals."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.version import folder_version
from pipeline.measure import describe_encoder, main
from tests.paper.held_out.test_views import BATCH_SIZE, BATCHES, SEED, STILL, views
from tests.tiny import Refused, change_json, prepare_sample


def run(out: Path, encoder: Path | str, prepared: Path, **changes: str) -> int:
    options = {
        "batches": str(BATCHES),
        "batch_size": str(BATCH_SIZE),
        "seed": str(SEED),
        "margin": "0.3",
        "temperatures": "0.05 0.3",
        "steps": "0.1 1",
    }
    words = ["--encoder", str(encoder), "--prepared", str(prepared), "--out", str(out)]
    for key, value in (options | changes).items():
        words += [f"--{key.replace('_', '-')}", *value.split()]
    return main([*words, "--device", "cpu"])


@pytest.fixture(scope="module")
def written(tiny_bert: Path, prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `first.json` and `second.json` of two equal runs."""
    folder = tmp_path_factory.mktemp("measured")
    for name in ("first", "second"):
        assert run(folder / f"{name}.json", tiny_bert, prepared) == 0
    return folder


@pytest.fixture
def content(written: Path) -> Any:
    return json.loads((written / "first.json").read_text(encoding="utf-8"))


class TestFile:
    def test_equal_runs_write_equal_bytes(self, written: Path) -> None:
        first, second = sorted(written.iterdir())
        assert first.read_bytes() == second.read_bytes()

    def test_it_says_what_was_measured_on_what(
        self, content: Any, tiny_bert: Path, prepared: Path
    ) -> None:
        assert content["encoder"] == {
            "name": tiny_bert.name,
            "objective": None,
            "seed": None,
            "version": folder_version(tiny_bert),
            "steps": None,
            "step": None,
            "pooling": "cls",
        }
        meta = json.loads((prepared / "meta.json").read_text(encoding="utf-8"))
        data = content["data"]
        assert data["hash"] == meta["data_hash"]
        assert (data["batches"], data["batch_size"], data["sentences"]) == (3, 16, 48)
        assert content["settings"]["temperatures"] == [0.05, 0.3]
        assert content["hardware"].startswith("cpu")

    def test_fewer_batches_are_taken_where_sentences_end(
        self, tiny_bert: Path, prepared: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "all.json"
        assert run(out, tiny_bert, prepared, batches="1000") == 0
        data = json.loads(out.read_text(encoding="utf-8"))["data"]
        assert data["batches"] == data["held_out"] // BATCH_SIZE
        assert data["sentences"] <= data["held_out"]


def test_the_measured_cosines_are_theirs(content: Any, tiny_bert: Path, prepared: Path) -> None:
    encoder = SentenceEncoder.load(tiny_bert, "cpu")
    encoder.model.set_attn_implementation("eager")
    means = [batch.aligned.mean() for batch in views(encoder, prepared)]
    assert content["cosines"]["positive"]["mean"] == pytest.approx(np.mean(means), abs=1e-5)


class TestEncoders:
    def test_one_of_triads_is_named_by_objective_and_seed(self, own: Path) -> None:
        best = {"step": 50, "dev_spearman": 60.0}
        record = {"objective": "vicreg", "seed": 7, "steps": 200, "best": best}
        (own / "triad.json").write_text(json.dumps(record), encoding="utf-8")
        described = describe_encoder(str(own), "cls")
        assert described["name"] == "vicreg-7"
        assert (described["steps"], described["step"]) == (200, 50)

    def test_an_encoder_that_was_saved_is_measured_as_its_backbone(
        self, content: Any, tiny_bert: Path, prepared: Path, tmp_path: Path
    ) -> None:
        """Its folder says how to pool, and its tokenizer is still the backbone's."""
        SentenceEncoder.load(tiny_bert, "cpu").save(tmp_path / "saved")
        out = tmp_path / "saved.json"
        assert run(out, tmp_path / "saved", prepared) == 0
        saved = json.loads(out.read_text(encoding="utf-8"))
        assert saved["cosines"] == content["cosines"]


class TestRefusals:
    @pytest.mark.parametrize("held_out", [0.0, 0.005])
    def test_too_few_sentences(
        self, tiny_bert: Path, tmp_path: Path, refused: Refused, held_out: float
    ) -> None:
        few = prepare_sample(tiny_bert, tmp_path / "few", held_out)
        error = refused(run(tmp_path / "out.json", tiny_bert, few))
        assert error.startswith("measure: ")
        assert "fewer than one batch of 16" in error
        assert "larger corpus.held_out (or --held-out), or give a smaller --batch-size" in error
        assert not (tmp_path / "out.json").exists()

    def test_an_encoder_with_another_tokenizer(
        self, tiny_roberta: Path, prepared: Path, tmp_path: Path, refused: Refused
    ) -> None:
        error = refused(run(tmp_path / "out.json", tiny_roberta, prepared))
        assert "whose tokenizer is not that of" in error

    def test_an_encoder_without_dropout(
        self, own: Path, prepared: Path, tmp_path: Path, refused: Refused
    ) -> None:
        change_json(own / "config.json", **STILL)
        assert "has no dropout" in refused(run(tmp_path / "out.json", own, prepared))

    def test_writing_into_the_encoders_folder(
        self, own: Path, prepared: Path, refused: Refused
    ) -> None:
        error = refused(run(own / "out.json", own, prepared))
        assert "lies in the encoder's folder" in error

    @pytest.mark.parametrize(
        ("option", "value", "message"),
        [
            ("batches", "-1", "'-1' is not a whole number from 1 on"),
            ("batches", "many", "'many' is not a whole number from 1 on"),
            ("batches", "0", "'0' is not a whole number from 1 on"),
            ("batch_size", "1", "'1' is not a whole number from 2 on"),
            ("seed", "4294967296", "is not a whole number from 0 to 4294967295"),
            ("margin", "2.5", "'2.5' is not a number from 0 to 2"),
            ("margin", "wide", "'wide' is not a number from 0 to 2"),
            ("temperatures", "0.05 0", "'0' is not a number above 0"),
            ("steps", "inf", "'inf' is not a number above 0"),
        ],
    )
    def test_numbers_out_of_range(
        self,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        option: str,
        value: str,
        message: str,
    ) -> None:
        with pytest.raises(SystemExit, match="2"):
            run(tmp_path / "out.json", "encoder", tmp_path, **{option: value})
        error = capsys.readouterr().err
        assert error.startswith("usage: python -m pipeline.measure")
        assert message in error
