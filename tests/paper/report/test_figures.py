"""Figures of the study: what is drawn, that it can be read, and what is joined over seeds."""

import math
from collections.abc import Callable

import pytest

from pipeline.paper.figure import Figure, as_json
from pipeline.paper.held_out.schema import Measurement
from pipeline.paper.report import figures
from pipeline.paper.report.study import Dynamics
from pipeline.results.layout import rounded
from pipeline.training.curves import DYNAMICS
from tests.paper.report.written_study import measurement

UNTRAINED = ("backbone", [measurement("backbone", 0)])
TRAINED = {
    "one seed": [measurement("vicreg", 1)],
    "several seeds": [measurement("vicreg", seed) for seed in (1, 2, 3)],
    "no open anchor": [measurement("vicreg", 1, noise=0.01)],
}


def of(seeds: list[Measurement]) -> figures.Encoders:
    return {"untrained": UNTRAINED, "trained": ("vicreg", seeds)}


def run(seed: int, steps: int = 40) -> list[dict[str, float]]:
    """A table as `pipeline.train --dynamics` writes it; no anchor is open at step 30."""
    return [
        dict.fromkeys(DYNAMICS, 0.5 + seed / step)
        | {"step": step, "ratio": math.nan if step == 30 else 1 + seed / step}
        for step in range(10, 10 * steps + 1, 10)
    ]


RUNS = {"one seed": [run(1)], "several seeds": [run(1), run(3)]}
HELD_OUT = (figures.cosine_density, figures.hardest_share, figures.minimum_ratio)


@pytest.mark.parametrize("seeds", TRAINED.values(), ids=TRAINED)
@pytest.mark.parametrize("draw", HELD_OUT)
def test_a_figure_of_encoders_can_be_read(
    draw: Callable[[figures.Encoders], Figure], seeds: list[Measurement]
) -> None:
    check_readable(draw(of(seeds)))


@pytest.mark.parametrize("runs", RUNS.values(), ids=RUNS)
def test_a_figure_over_training_steps_can_be_read(runs: list[Dynamics]) -> None:
    check_readable(figures.dynamic_ratios({"arccon": runs, "met": [run(2)]}, {}))
    check_readable(figures.positive_cosine({"r = 1": runs, "r = 2": [run(2)]}, {}))
    check_readable(figures.angles("paradigm", runs, {}))


def check_readable(figure: Figure) -> None:
    """Data that JSON can hold, labelled axes that the caption names, lines that differ in grey."""
    as_json({"settings": figure.settings, "data": rounded(figure.data)})
    shown = figure.picture.axes
    assert shown[0].get_ylabel()
    assert all(axes.get_xlabel() for axes in shown)
    assert any(axes.get_legend() for axes in shown)
    assert "Horizontal: " in figure.caption
    assert "vertical: " in figure.caption
    for axes in shown:
        styles = [
            (line.get_linestyle(), line.get_marker(), line.get_markerfacecolor() == "none")
            for line in axes.get_lines()
        ]
        assert len(set(styles)) == len(styles)


def test_several_seeds_have_mean_and_sample_deviation_and_one_has_none() -> None:
    seeds = TRAINED["several seeds"]
    share = figures.hardest_share(of(seeds)).data["trained"]["vicreg"]["all"]["weight_share"]
    coldest = [one.hardest_share.by_temperature[0].all.weight_share or 0.0 for one in seeds]
    mean = sum(coldest) / 3
    deviation = math.sqrt(sum((value - mean) ** 2 for value in coldest) / 2)
    assert share["mean"][0] == pytest.approx(mean)
    assert share["deviation"][0] == pytest.approx(deviation)
    alone = figures.hardest_share(of(seeds[:1])).data["trained"]["vicreg"]["all"]["weight_share"]
    assert (alone["seeds"], alone["deviation"]) == (1, None)


def test_a_value_that_a_seed_lacks_is_left_out() -> None:
    """Means of 1 and 3, of 2 alone, of nothing; a deviation needs two."""
    curve = rounded(figures.over_seeds([[1.0, None, None], [3.0, 2.0, None]]))
    assert curve["mean"] == [2.0, 2.0, None]
    assert curve["deviation"] == [pytest.approx(math.sqrt(2), abs=1e-6), None, None]


def test_runs_of_unlike_length_are_joined_by_step() -> None:
    data = figures.positive_cosine({"r = 1": [run(1, 2), run(3, 3)]}, {}).data["r = 1"]
    assert data["step"] == [10, 20, 30]
    assert data["positive_cosine"]["mean"] == pytest.approx([0.7, 0.6, 0.6])


def test_the_line_of_equal_shares_is_one_of_the_negatives() -> None:
    """Batches of 16 have 15 negatives an anchor."""
    figure = figures.hardest_share(of(TRAINED["one seed"]))
    assert figure.data["uniform"] == pytest.approx(1 / 15, abs=1e-6)
    labels = figure.picture.axes[0].get_legend_handles_labels()[1]
    assert labels == ["backbone, untrained", "vicreg", "1/15: all alike"]


def test_the_area_of_a_minimum_ratio_is_the_share_that_some_ratio_serves() -> None:
    data = figures.minimum_ratio(of(TRAINED["one seed"])).data["untrained"]["backbone"]
    spacing = data["ratio"][1] - data["ratio"][0]
    for row in data["by_step"][:2]:
        area = sum(row["area_density"]["mean"]) * spacing
        assert area == pytest.approx(1 - row["share_undefined"]["mean"][0], abs=0.05)


def test_a_caption_names_data_settings_encoders_and_hardware() -> None:
    caption = figures.minimum_ratio(of(TRAINED["several seeds"])).caption
    for words in ("2 batches of 16", "wiki.txt", "m = 0.3", "vicreg-1", "backbone-0", "an abacus"):
        assert words in caption
