"""Sweeps, ablation, conventions, conjectures and the paper's tables, from chosen numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pipeline.config import load as config
from pipeline.paper.report import ablation, conjectures, conventions, paper_tables, sweeps
from pipeline.paper.report.study import Study, read_study
from pipeline.results.numbers import Spread
from tests.paper.report.written_study import WrittenStudy
from tests.tiny import write_params

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.config.schema import Params


@pytest.fixture
def written(tmp_path: Path) -> WrittenStudy:
    return WrittenStudy(tmp_path).add_all()


def read(written: WrittenStudy) -> Study:
    return read_study(config.load(written.params), written.folder)


class TestSweeps:
    def test_points_differ_in_one_hyperparameter_and_stand_by_its_value(
        self, written: WrittenStudy
    ) -> None:
        found = sweeps.sweeps(read(written), "paradigm")
        assert {key: [point.value for point in points] for key, points in found.items()} == {
            "margin": [0.3, 2.0],
            "temperature": [0.05, 3.0],
            "ratio": [1.0, 2.0],
        }

    def test_a_line_of_the_table_is_a_point(self, written: WrittenStudy) -> None:
        text = sweeps.table(sweeps.sweeps(read(written), "paradigm"))
        assert "| margin m | 2 | 2 | 52.50 ± 0.71 | 42.50 ± 0.71 | 50.00 ± 0.00 |" in text

    def test_without_variants_there_is_no_sweep(self, tmp_path: Path) -> None:
        alone = WrittenStudy(tmp_path / "alone")
        alone.add("paradigm", 1)
        assert sweeps.sweeps(read(alone), "paradigm") == {}


class TestAblation:
    def test_the_steps_that_were_run_stand_in_the_papers_order(self, written: WrittenStudy) -> None:
        assert ablation.families(read(written)) == {
            "vicreg": {
                "original": "vicreg",
                "+ dissipation": "vicreg_dissipation",
                "+ ratio": "vicreg_modified",
            }
        }

    def test_a_step_that_was_not_run_is_a_dash(self, written: WrittenStudy) -> None:
        text = ablation.table(read(written))
        row = "| `vicreg` | dev, best step | 2 | 56.50 ± 0.71 | 57.50 ± 0.71 | - | 58.50 ± 0.71 |"
        assert row in text


class TestConventions:
    def test_only_variants_of_more_than_a_number_are_told(self, written: WrittenStudy) -> None:
        assert conventions.chosen(read(written)) == [
            "vicreg_modified_both",
            "vicreg_modified_frozen",
        ]

    def test_each_has_its_difference_from_what_it_varies(self, written: WrittenStudy) -> None:
        """Places 7 and 9 of the list: dev scores 58.5 and 60.5."""
        text = conventions.table(read(written))
        assert "| `vicreg_modified` | nothing | 2 | 58.50 ± 0.71 |" in text
        assert "| freeze_embeddings: True | 2 | 60.50 ± 0.71 (+2.00) |" in text


class TestConjectures:
    @pytest.mark.parametrize(("negative", "holds"), [(0.1, True), (0.3, False)])
    def test_1_holds_where_the_gap_is_smaller_with_dissipation_in_every_seed(
        self, written: WrittenStudy, negative: float, *, holds: bool
    ) -> None:
        """With dissipation the gap is 0.9 - 0.2."""
        written.add("paradigm_open", 2, cosines=(0.9, 0.1))
        written.add("paradigm_open", 1, cosines=(0.9, negative))
        evidence = conjectures.dissipation(read(written))
        assert evidence.holds is holds
        assert f"{1 + holds} of 2 seeds, by" in evidence.reading
        assert evidence.verdict == ("holds" if holds else "does not hold")
        assert "| with dissipation | 2 | 0.900 ± 0.000 | 0.200 ± 0.000 | 0.700" in evidence.table

    def test_2_is_told_against_the_uniform_share(self, written: WrittenStudy) -> None:
        """A share of 0.4 is 50.8 times 1 / 127."""
        evidence = conjectures.hardest_negative(read(written))
        assert evidence.holds is True
        assert "one of 127 negatives" in evidence.reading
        assert "| untrained | 0.05 | 0.400 | 50.8 | 0.200 |" in evidence.table

    @pytest.mark.parametrize(("positive", "holds"), [(0.95, True), (0.85, False)])
    def test_3_holds_where_cosines_rise_with_the_ratio(
        self, written: WrittenStudy, positive: float, *, holds: bool
    ) -> None:
        for seed in (1, 2):
            written.add("paradigm_ratio_200", seed, cosines=(positive, 0.2))
        evidence = conjectures.ratio(read(written))
        assert evidence.holds is holds
        assert f"rises {int(holds)} times of 1" in evidence.reading

    def test_one_seed_is_told_as_what_it_is(self, tmp_path: Path) -> None:
        """The gap is 0.7 with dissipation and 0.8 without."""
        one = WrittenStudy(tmp_path / "one", seeds=(1,))
        one.add("paradigm", 1)
        one.add("paradigm_open", 1, cosines=(0.9, 0.1))
        evidence = conjectures.dissipation(read(one))
        assert evidence.verdict == "holds for the one seed that was run"
        assert "by 0.100 on average; from batch to batch it varies by 0.010" in evidence.reading

    def test_without_the_runs_nothing_is_claimed(self, tmp_path: Path) -> None:
        other = WrittenStudy(tmp_path / "other")
        other.add("vicreg", 1)
        study = read(other)
        for tell in (conjectures.dissipation, conjectures.hardest_negative, conjectures.ratio):
            assert tell(study).verdict == "not measured"


def comparison(**changes: Any) -> dict[str, Any]:
    scores = {"STS-B": {"mean": 60.0, "deviation": 1.0}, "avg": {"mean": 61.0, "deviation": None}}
    measured = {"seeds": [1], "scores": scores}
    objectives = {"vicreg": measured, "vicreg_modified": measured}
    return {"comparable_to_published": True, "objectives": objectives, **changes}


PAPER = {
    "backbone.source": "bert-base-uncased",
    "corpus.source": paper_tables.SENTENCES,
    "backbone.watch": "params.yaml",
}


class TestPublished:
    def params(self, folder: Path, **changes: str) -> Params:
        return config.load(write_params(folder / "own.yaml", PAPER | changes))

    def test_stands_beside_ours_where_everything_is_the_papers(self, tmp_path: Path) -> None:
        found = paper_tables.published(self.params(tmp_path), comparison(), "sts")
        assert found is not None
        assert found["vicreg_modified"]["avg"] == Spread(78.34, None)
        text = paper_tables.table(paper_tables.ours(comparison(), "sts"), found)
        assert (
            "| `vicreg_modified` | 60.00 ± 1.00 | 61.00 |\n| *published* | 80.05 | 78.34 |" in text
        )

    @pytest.mark.parametrize(
        ("changes", "compared"),
        [
            ({"backbone.source": "bert-large-uncased"}, {}),
            ({"corpus.source": "mine.txt"}, {}),
            ({}, {"comparable_to_published": False}),
        ],
    )
    def test_does_not_where_anything_is_not(
        self, tmp_path: Path, changes: dict[str, str], compared: dict[str, Any]
    ) -> None:
        params = self.params(tmp_path, **changes)
        assert paper_tables.published(params, comparison(**compared), "sts") is None

    def test_figure_1_says_whether_published_figures_stand_in_it(self, tmp_path: Path) -> None:
        own = paper_tables.ours(comparison(), "sts")
        paper = paper_tables.published(self.params(tmp_path), comparison(), "sts")
        assert "published averages" in paper_tables.exhibit(own, paper, {}).caption
        assert "No published figure" in paper_tables.exhibit(own, None, {}).caption
