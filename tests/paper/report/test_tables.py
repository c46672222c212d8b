"""Sweeps, ablation, conventions, conjectures and the paper's tables, of numbers that are chosen."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.config import load as config
from pipeline.config.schema import Params
from pipeline.paper.report import conjectures, tables
from pipeline.paper.report.figures import before_and_after_figure
from tests.paper.report.written_study import WrittenStudy
from tests.tiny import write_params


@pytest.fixture
def written(tmp_path: Path) -> WrittenStudy:
    return WrittenStudy(tmp_path).add_all()


def evidence_of(component: str, written: WrittenStudy) -> conjectures.Evidence:
    evidence = conjectures.conjectures(written.read())[component]
    assert evidence is not None
    return evidence


def test_the_points_of_a_sweep_differ_in_one_hyperparameter(written: WrittenStudy) -> None:
    study = written.read()
    assert tables.sweeps(study) == {
        "margin": [(0.3, "paradigm"), (2.0, "paradigm_open")],
        "temperature": [(0.05, "paradigm"), (3.0, "paradigm_temperature_300")],
        "ratio": [(1.0, "paradigm"), (2.0, "paradigm_ratio_200")],
    }
    row = ["margin m", "2", "2", "52.50 ± 0.71", "42.50 ± 0.71", "50.00 ± 0.00"]
    assert row in tables.sweep_rows(study)


def test_an_ablation_is_in_the_papers_order_with_a_dash_for_a_step_that_was_not_run(
    written: WrittenStudy,
) -> None:
    cells = ["56.50 ± 0.71", "57.50 ± 0.71", "-", "58.50 ± 0.71"]
    assert ["`vicreg`", "dev, best step", "2", *cells] in tables.ablation_rows(written.read())


def test_variants_of_more_than_a_number_have_their_difference_from_what_they_vary(
    written: WrittenStudy,
) -> None:
    """Places 7 to 9 of the list: dev scores 58.5, 59.5, 60.5."""
    rows = tables.convention_rows(written.read())
    assert [row[:4] for row in rows] == [
        ["`vicreg_modified`", "nothing", "2", "58.50 ± 0.71"],
        ["`vicreg_modified_both`", "positive_gradient: both", "2", "59.50 ± 0.71 (+1.00)"],
        ["`vicreg_modified_frozen`", "freeze_embeddings: True", "2", "60.50 ± 0.71 (+2.00)"],
    ]


@pytest.mark.parametrize(
    ("negatives", "verdict"),
    [((0.1, 0.11), "holds"), ((0.3, 0.29), "does not hold"), ((0.1, 0.3), "undecided")],
)
def test_conjecture_1_is_told_by_the_interval_over_seeds_of_the_gaps(
    written: WrittenStudy, negatives: tuple[float, float], verdict: str
) -> None:
    """With dissipation the gap is 0.9 - 0.2."""
    for seed, negative in zip((1, 2), negatives, strict=True):
        written.add("paradigm_open", seed, cosines=(0.9, negative))
    evidence = evidence_of("dissipation", written)
    assert (evidence.verdict, evidence.seeds) == (verdict, 2)
    assert evidence.difference == pytest.approx(0.2 - sum(negatives) / 2)
    cells = ["0.900 ± 0.000", "0.200 ± 0.000", "0.700 ± 0.000"]
    assert ["with dissipation", "2", *cells] in evidence.rows


def test_the_interval_of_a_conjecture_is_students() -> None:
    """Of 1, 2 and 3: 2 +- 4.303 / sqrt(3)."""
    evidence = conjectures.evidence([1, 2, 3], {}, [])
    assert evidence.verdict == "undecided"
    assert (evidence.low, evidence.high) == pytest.approx((2 - 2.4841, 2 + 2.4841), abs=1e-4)


def test_conjecture_2_is_told_against_the_uniform_share(written: WrittenStudy) -> None:
    """A share of 0.4 is 6 times 1 / 15."""
    evidence = evidence_of("weight", written)
    assert evidence.verdict == "holds"
    assert ["untrained", "0.05", "0.400", "6.0", "0.200"] in evidence.rows


@pytest.mark.parametrize(("positive", "verdict"), [(0.95, "holds"), (0.85, "does not hold")])
def test_conjecture_3_is_told_by_the_least_and_the_largest_ratio(
    written: WrittenStudy, positive: float, verdict: str
) -> None:
    for seed in (1, 2):
        written.add("paradigm_ratio_200", seed, cosines=(positive, 0.2))
    evidence = evidence_of("ratio", written)
    assert evidence.verdict == verdict
    assert evidence.numbers["rises"] == int(verdict == "holds")
    assert (evidence.numbers["least"], evidence.numbers["largest"]) == (1, 2)
    assert [row[0] for row in evidence.numbers["served"]] == ["0.1", "0.5", "2"]


def test_the_least_ratio_is_over_steps_and_seeds(written: WrittenStudy) -> None:
    assert tables.least_ratios(written.read()) == {"arccon": 0.5}


def comparison(**changes: Any) -> dict[str, Any]:
    scores = {"STS-B": {"mean": 60.0, "deviation": 1.0}, "avg": {"mean": 61.0, "deviation": None}}
    measured = {"seeds": [1], "scores": scores}
    objectives = {"vicreg": measured, "vicreg_modified": measured}
    return {"comparable_to_published": True, "objectives": objectives, **changes}


PAPER = {
    "backbone.source": "bert-base-uncased",
    "corpus.source": tables.SENTENCES,
    "backbone.watch": "params.yaml",
}


class TestPublished:
    def params(self, folder: Path, **changes: str) -> Params:
        return config.load(write_params(folder / "own.yaml", PAPER | changes))

    def test_stands_beside_ours_where_everything_is_the_papers(self, tmp_path: Path) -> None:
        ((title, tasks, rows),) = tables.published_tables(self.params(tmp_path), comparison())
        assert (title, tasks) == ("STS", ["STS-B", "avg"])
        assert rows[-2:] == [
            ["`vicreg_modified`", "60.00 ± 1.00", "61.00"],
            ["*published*", "80.05", "78.34"],
        ]

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
        assert tables.published_tables(params, comparison(**compared)) == []

    def test_figure_1_says_whether_published_figures_stand_in_it(self, tmp_path: Path) -> None:
        own = tables.ours(comparison(), "sts")
        paper = tables.published(self.params(tmp_path), comparison(), "sts")
        assert "published averages" in before_and_after_figure(own, paper, {}).caption
        assert "No published figure" in before_and_after_figure(own, None, {}).caption
