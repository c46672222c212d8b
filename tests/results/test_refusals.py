"""What the stage refuses: exit status 1 and one sentence, nothing written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.results.metrics import scores_archive
from tests.results.lab import result
from tests.tiny import change_json

if TYPE_CHECKING:
    from tests.results.lab import Project


class TestExitCode1WithOneSentence:
    def refused(
        self, project: Project, capsys: pytest.CaptureFixture[str], resamples: int = 200
    ) -> str:
        assert project.compare(resamples=resamples) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        assert not (project.folder / "results").exists()
        return captured.err

    def test_for_no_metrics(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        sentence = self.refused(project, capsys)
        assert "holds no <objective>/<seed>.json; run pipeline.evaluate first" in sentence

    def test_for_no_resamples(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        project.add("info_nce")
        assert "bootstrap: 0 resamples" in self.refused(project, capsys, resamples=0)

    def test_for_other_tasks(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        project.add("info_nce")
        project.add("vicreg", tasks={"STS-B": 300, "STS12": 20})
        assert "evaluate all encoders on the same tasks" in self.refused(project, capsys)

    def test_for_other_data(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        project.add("info_nce")
        project.add("vicreg", data="senteval")
        assert "has data senteval, info_nce/1 has sample" in self.refused(project, capsys)

    @pytest.mark.parametrize(
        ("other", "message"),
        [
            ({"setting": "test"}, "has setting test, info_nce/1 has fast"),
            ({"classifier": "logistic"}, "has classifier logistic, info_nce/1 has mlp"),
            ({"label": "benchmark"}, "'MR': 'benchmark'}, info_nce/1 has {"),
            ({"transfer": {"TREC": 1.0}}, "has tasks STS-B, TREC, info_nce/1 has STS-B, MR"),
            ({"transfer": {}}, "has tasks STS-B, info_nce/1 has STS-B, MR"),
        ],
    )
    def test_for_transfer_tasks_that_were_measured_otherwise(
        self,
        project: Project,
        capsys: pytest.CaptureFixture[str],
        other: dict[str, Any],
        message: str,
    ) -> None:
        project.add("info_nce", transfer={"MR": 1.0})
        project.add("vicreg", **({"transfer": {"MR": 2.0}} | other))
        sentence = self.refused(project, capsys)
        assert message in sentence
        assert "of the same data, with the same setting and classifier" in sentence

    def test_for_metrics_from_before_labels(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        project.add("mhe")
        path = project.folder / "metrics" / "mhe" / "1.json"
        content = json.loads(path.read_text(encoding="utf-8"))
        del content["sts"]["STS-B"]["label"]
        path.write_text(json.dumps(content), encoding="utf-8")
        assert "(it lacks 'label'); evaluate the encoder again" in self.refused(project, capsys)

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("metrics/mhe/best.json", b"{}"),
            ("metrics/mhe/1.json", b"{"),
            ("metrics/mhe/1.json", b"[]"),
            ("metrics/mhe/1.json", b'{"sts": {}}'),
        ],
    )
    def test_for_metrics_that_cannot_be_read(
        self,
        project: Project,
        capsys: pytest.CaptureFixture[str],
        name: str,
        content: bytes,
    ) -> None:
        project.write(name, content)
        sentence = self.refused(project, capsys)
        assert f"{Path(name).name} is not <objective>/<seed>.json as" in sentence

    def test_for_metrics_in_another_encoders_place(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        project.add("vicreg")
        (project.folder / "metrics" / "vicreg").rename(project.folder / "metrics" / "mhe")
        assert "was measured on vicreg-1" in self.refused(project, capsys)

    def test_for_missing_scores(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        project.add("vicreg")
        project.add("vicreg_modified")
        (project.folder / "scores" / "vicreg" / "1.npz").unlink()
        assert "has no scores of STS-B" in self.refused(project, capsys)

    @pytest.mark.parametrize("kept", [0, 10, 500, 3000])
    def test_for_scores_that_are_cut_short(
        self, project: Project, capsys: pytest.CaptureFixture[str], kept: int
    ) -> None:
        project.add("vicreg")
        project.add("vicreg_modified")
        path = project.folder / "scores" / "vicreg" / "1.npz"
        path.write_bytes(path.read_bytes()[:kept])
        assert "vicreg/1.npz has no scores of STS-B that can be" in self.refused(project, capsys)

    @settings(
        max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(place=st.integers(0, 5_500))
    def test_for_scores_with_a_flipped_bit_or_not_at_all(
        self, project: Project, capsys: pytest.CaptureFixture[str], place: int
    ) -> None:
        """Some bits of the format mean nothing; no other way out than these two."""
        project.add("vicreg")
        project.add("vicreg_modified")
        path = project.folder / "scores" / "vicreg" / "1.npz"
        content = bytearray(path.read_bytes())
        content[place % len(content)] ^= 4
        path.write_bytes(content)
        assert project.compare() in (0, 1)

    @pytest.mark.parametrize(
        ("cosine", "gold", "message"),
        [
            ([0.1, 0.2], [1.0], "cosine has shape (2,), gold (1,)"),
            ([[0.1]], [[1.0]], "cosine has shape (1, 1), gold (1, 1)"),
            ([float("nan"), 0.2], [1.0, 2.0], "a cosine or gold score is not finite"),
            (["a", "b"], [1.0, 2.0], "has no scores of STS-B that can be read"),
        ],
    )
    def test_for_scores_that_are_no_pairs(
        self,
        project: Project,
        capsys: pytest.CaptureFixture[str],
        cosine: list[Any],
        gold: list[Any],
        message: str,
    ) -> None:
        project.add("vicreg")
        project.add("vicreg_modified")
        arrays = {"STS-B/cosine": np.array(cosine), "STS-B/gold": np.array(gold)}
        np.savez(
            project.folder / "scores" / "vicreg" / "1.npz",
            allow_pickle=False,
            **arrays,
        )
        assert message in self.refused(project, capsys)

    @pytest.mark.parametrize("objective", [[1], {"a": 1}, 7])
    def test_for_an_objective_that_is_no_name(
        self, project: Project, capsys: pytest.CaptureFixture[str], objective: object
    ) -> None:
        project.add("mhe")
        change_json(project.folder / "metrics" / "mhe" / "1.json", objective=objective)
        assert "mhe/1.json was measured on" in self.refused(project, capsys)

    def test_for_scores_in_the_metrics_that_are_not_finite(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        project.add("mhe", transfer={"MR": float("inf")})
        assert "transfer holds scores that are not finite" in self.refused(project, capsys)

    @pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"step,dev_spearman\n1,\x80\n"])
    def test_for_a_curve_that_is_no_text(
        self, project: Project, capsys: pytest.CaptureFixture[str], content: bytes
    ) -> None:
        project.add("mhe")
        project.write("curves/mhe/1.csv", content)
        assert "mhe/1.csv is no CSV text" in self.refused(project, capsys)

    def test_for_a_place_that_cannot_be_written(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        project.add("mhe")
        project.write("file", b"")
        assert project.compare(out="file") == 1
        assert "comparison.md: cannot be written (" in capsys.readouterr().err

    def test_for_scores_of_another_run(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        project.add("vicreg")
        project.add("vicreg_modified")
        stale = scores_archive(result({"STS-B": 300}, 3, 1))
        project.write("scores/vicreg/1.npz", stale)
        assert "evaluate the encoder again to write both" in self.refused(project, capsys)

    def test_for_other_gold_scores(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Gold twice as large has the same ranks and scores, but is not the same data."""
        project.add("vicreg")
        project.add("vicreg_modified")
        path = project.folder / "scores" / "vicreg" / "1.npz"
        with np.load(path) as archive:
            changed = {
                "STS-B/cosine": archive["STS-B/cosine"],
                "STS-B/gold": 2 * archive["STS-B/gold"],
            }
        np.savez(path, allow_pickle=False, **changed)
        assert "has other gold scores than vicreg/1" in self.refused(project, capsys)

    @pytest.mark.parametrize(
        ("curve", "message"),
        [
            ("step,dev_spearman\n0,high\n", "line 2: step and dev_spearman must be numbers"),
            ("step,dev_spearman\n0,1\n5,nan\n", "line 3: step and dev_spearman"),
            ("step,loss\n0,1\n", "line 2: step and dev_spearman"),
            ("step,dev_spearman\n", "holds no step"),
        ],
    )
    def test_for_a_curve_that_cannot_be_read(
        self, project: Project, capsys: pytest.CaptureFixture[str], curve: str, message: str
    ) -> None:
        project.add("info_nce", curve=curve)
        assert message in self.refused(project, capsys)
