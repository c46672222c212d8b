"""Figures of section 3.2: what is drawn, that it can be read, and data without NaN."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
import torch

from pipeline.objectives.views import Views, l2_normalize
from pipeline.paper.figure import as_json
from pipeline.paper.held_out.measurements import Settings, measure
from pipeline.paper.report import dynamics_figures, held_out_figures
from pipeline.paper.report.over_seeds import Curve
from pipeline.training.curves import DYNAMICS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.paper.figure import Exhibit

SETTINGS = Settings(margin=0.3, temperatures=(0.01, 0.05, 0.3), steps=(0.1, 0.5, 2.0), seed=1)
DATA = {"source": "corpus.txt", "hash": "abc", "batches": 2, "batch_size": 16}


def measurement(name: str, seed: int, noise: float = 0.5) -> dict[str, Any]:
    """As `pipeline.measure` writes it, of random embeddings."""
    generator = torch.Generator().manual_seed(seed)

    def normal() -> torch.Tensor:
        return torch.randn(16, 8, generator=generator, dtype=torch.float64)

    batches = []
    for _ in range(2):
        anchor = normal()
        batches.append(Views(l2_normalize(anchor), l2_normalize(anchor + noise * normal())))
    return {
        "encoder": {"name": f"{name}-{seed}", "objective": name, "seed": seed, "version": "v"},
        "data": DATA,
        "settings": {"seed": 1, "margin": 0.3},
        "hardware": "cpu, 1 threads",
        **measure(batches, SETTINGS),
    }


UNTRAINED = {"backbone": [measurement("backbone", 0)]}
ONE = {"InfoNCE": [measurement("info_nce", 1)]}
SEVERAL = {"VICReg": [measurement("vicreg", seed) for seed in (1, 2, 3)], **ONE}
CLOSED = {"closed": [measurement("closed", 1, noise=0.01)]}
GROUPS = {"one seed": ONE, "several seeds": SEVERAL, "no open anchor": CLOSED}

HELD_OUT: dict[str, Callable[[Any], Exhibit]] = {
    "cosine_density": lambda group: held_out_figures.cosine_density(group, ONE, UNTRAINED),
    "hardest_share": lambda group: held_out_figures.hardest_share(UNTRAINED, group),
    "minimum_ratio": lambda group: held_out_figures.minimum_ratio(UNTRAINED, group),
}


def run(seed: int, steps: int = 40) -> list[dict[str, float | None]]:
    """A table as `pipeline.train --dynamics` writes it; no anchor is open at step 30."""
    rows: list[dict[str, float | None]] = []
    for step in range(10, 10 * steps + 1, 10):
        row: dict[str, float | None] = dict.fromkeys(DYNAMICS, 0.5 + seed / step)
        rows.append(row | {"step": step, "ratio": None if step == 30 else 1 + seed / step})
    return rows


RUNS = {
    "one seed": {"ArcCon": [run(1)], "MET": [run(2)]},
    "several seeds": {"ArcCon": [run(1), run(3)], "MET": [run(2)]},
}
DYNAMIC: dict[str, Callable[[Any], Exhibit]] = {
    "dynamic_ratios": lambda runs: dynamics_figures.dynamic_ratios(runs, {"steps": 400}),
    "positive_cosine": lambda runs: dynamics_figures.positive_cosine(runs, {"steps": 400}),
    "angles": lambda runs: dynamics_figures.angles(runs, {"steps": 400}),
}
CASES = [
    pytest.param(figure, given, name, id=f"{name}, {label}")
    for figures, kinds in ((HELD_OUT, GROUPS), (DYNAMIC, RUNS))
    for name, figure in figures.items()
    for label, given in kinds.items()
]


@pytest.mark.parametrize(("figure", "given", "name"), CASES)
def test_every_figure_can_be_read(figure: Callable[[Any], Exhibit], given: Any, name: str) -> None:
    """Data without NaN, labelled axes that the caption names, lines that differ in grey."""
    exhibit = figure(given)
    assert exhibit.name == name
    as_json({"settings": exhibit.settings, "data": exhibit.data})
    shown = [axes for axes in exhibit.figure.axes if axes.get_visible()]
    assert shown[0].get_ylabel()
    assert all(axes.get_xlabel() for axes in shown)
    assert any(axes.get_legend() for axes in shown)
    assert "Horizontal: " in exhibit.caption
    assert "vertical: " in exhibit.caption
    for axes in shown:
        styles = [
            (line.get_linestyle(), line.get_marker(), line.get_markerfacecolor() == "none")
            for line in axes.get_lines()
        ]
        assert len(set(styles)) == len(styles)


class TestSeeds:
    def test_one_has_no_deviation(self) -> None:
        data = HELD_OUT["hardest_share"](ONE).data["trained"]["InfoNCE"]
        share = data["open"]["push_share"]
        assert (share["seeds"], share["deviation"]) == (1, None)

    def test_several_have_mean_and_deviation(self) -> None:
        """At t = 0.01; the deviation is that of a sample."""
        found = HELD_OUT["hardest_share"](SEVERAL).data["trained"]["VICReg"]["all"]["weight_share"]
        values = [
            one["hardest_share"]["by_temperature"][0]["all"]["weight_share"]
            for one in SEVERAL["VICReg"]
        ]
        mean = sum(values) / 3
        deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / 2)
        assert found["mean"][0] == pytest.approx(mean, abs=1e-6)
        assert found["deviation"][0] == pytest.approx(deviation, abs=1e-6)

    def test_a_value_that_one_of_them_lacks_is_left_out(self) -> None:
        """Means of 1 and 3, of 2 alone, of nothing; a deviation needs two."""
        curve = Curve.of([[1.0, None, None], [3.0, 2.0, None]])
        assert curve.mean == (2.0, 2.0, None)
        assert curve.deviation[0] == pytest.approx(math.sqrt(2))
        assert curve.deviation[1:] == (None, None)


class TestContent:
    def test_the_line_of_equal_shares_is_one_of_the_negatives(self) -> None:
        """Batches of 16 have 15 negatives an anchor."""
        exhibit = HELD_OUT["hardest_share"](ONE)
        assert exhibit.data["uniform"] == pytest.approx(1 / 15, abs=1e-6)
        labels = exhibit.figure.axes[0].get_legend_handles_labels()[1]
        assert labels == ["backbone, untrained", "InfoNCE", "1/15: all alike"]

    def test_the_area_of_a_minimum_ratio_is_the_share_that_some_ratio_serves(self) -> None:
        data = HELD_OUT["minimum_ratio"](ONE).data["untrained"]["backbone"]
        spacing = data["ratio"][1] - data["ratio"][0]
        for row in data["by_step"][:2]:
            area = sum(row["area_density"]["mean"]) * spacing
            served = 1 - row["share_undefined"]["mean"][0]
            assert area == pytest.approx(served, abs=0.05)

    def test_settings_name_data_encoders_and_hardware(self) -> None:
        exhibit = HELD_OUT["minimum_ratio"](SEVERAL)
        assert exhibit.settings["data"] == DATA
        trained = exhibit.settings["encoders"]["trained"]["VICReg"]
        assert [one["seed"] for one in trained] == [1, 2, 3]
        for words in ("2 batches of 16", "m = 0.3", "vicreg-1", "backbone-0", "cpu, 1 threads"):
            assert words in exhibit.caption

    def test_runs_of_unlike_length_are_joined_by_step(self) -> None:
        data = DYNAMIC["positive_cosine"]({"r = 1": [run(1, 2), run(3, 3)]}).data["r = 1"]
        assert data["step"] == [10, 20, 30]
        assert data["positive_cosine"]["mean"] == pytest.approx([0.7, 0.6, 0.6])
        assert data["positive_cosine"]["deviation"][2] is None


class TestRefusals:
    @pytest.mark.parametrize(
        ("part", "key"), [("data", "batches"), ("data", "hash"), ("settings", "margin")]
    )
    def test_encoders_that_were_measured_in_another_way(self, part: str, key: str) -> None:
        other = ONE["InfoNCE"][0]
        changed = {"InfoNCE": [other | {part: other[part] | {key: 9}}]}
        with pytest.raises(ValueError, match=rf"backbone-0 and info_nce-1 differ in {part}\.{key}"):
            HELD_OUT["hardest_share"](changed)

    def test_no_measurements(self) -> None:
        with pytest.raises(ValueError, match="there are none; measure an encoder first"):
            held_out_figures.hardest_share({}, {})
