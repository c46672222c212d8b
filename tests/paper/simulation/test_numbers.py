"""The simulation against numerical integration, and what must hold of its shares and ratios."""

import math

import numpy as np
import pytest
import torch

from pipeline.config.schema import SimulationParams
from pipeline.objectives import OBJECTIVES, Pieces, Recipe, Views
from pipeline.objectives import pieces as piece
from pipeline.paper.simulation.draws import Draws, negative_means, positive_means
from pipeline.paper.simulation.numbers import (
    Estimate,
    at_means,
    estimate,
    hardest_share,
    mean_dissipation,
)
from tests.paper.simulation import closed_values

PAPER = SimulationParams(
    objectives=("info_nce", "arccon", "mpt", "met"),
    grid=10,
    batches=1000,
    negatives=127,
    positive_deviation=0.05,
    negative_deviation=0.1,
    positive_mean=math.pi / 6,
    temperatures=(0.3, 0.1, 0.05, 0.03, 0.01, 0.005),
    steps=(0.1, 0.5),
    seed=42,
)
SMALL = PAPER.model_copy(update={"grid": 6, "batches": 30, "negatives": 9})
CLOSED = {"info_nce": closed_values.info_nce, "mpt": closed_values.mpt}
# Row and column of grid points at which dissipation is well between 0 and 1.
POINTS = [
    ("info_nce", 2, 1),
    ("info_nce", 3, 4),
    ("info_nce", 5, 8),
    ("mpt", 3, 2),
    ("mpt", 5, 7),
    ("mpt", 6, 9),
]


def closed(name: str, row: int, column: int) -> float:
    return CLOSED[name](positive_means(PAPER.grid)[column], negative_means(PAPER.grid)[row])


@pytest.fixture(scope="module")
def simulated() -> dict[str, Estimate]:
    return mean_dissipation({name: OBJECTIVES[name]() for name in CLOSED}, PAPER)


@pytest.mark.parametrize(("name", "row", "column"), POINTS)
def test_mean_dissipation_is_what_integration_gives(
    simulated: dict[str, Estimate], name: str, row: int, column: int
) -> None:
    found, expected = simulated[name], closed(name, row, column)
    assert 0.05 < expected < 0.95
    error = found.standard_error[row, column]
    assert 0 < error < 0.02
    assert abs(found.mean[row, column] - expected) < 4 * error


PARTS = 16  # each of other draws, to bound the memory


@pytest.mark.verify
def test_a_million_batches_give_the_integral_to_a_thousandth() -> None:
    """2.5 standard errors, sqrt(0.19 (1 - 0.19) / 1,000,000), where that is largest."""
    part = PAPER.model_copy(update={"batches": 1_000_000 // PARTS})
    found = np.zeros(len(POINTS))
    for seed in range(PARTS):
        draws = Draws.of(part.model_copy(update={"seed": seed}))
        for index, (name, row, column) in enumerate(POINTS):
            means = positive_means(PAPER.grid)[column], negative_means(PAPER.grid)[row]
            found[index] += estimate(OBJECTIVES[name](), draws.cosine(*means))[0] / PARTS
    np.testing.assert_allclose(found, [closed(*point) for point in POINTS], rtol=0, atol=1e-3)


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_do_not_change_the_numbers_and_are_given_back(threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = mean_dissipation({"info_nce": OBJECTIVES["info_nce"]()}, SMALL)
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    again = mean_dissipation({"info_nce": OBJECTIVES["info_nce"]()}, SMALL)
    np.testing.assert_array_equal(found["info_nce"].mean, again["info_nce"].mean)


class TestHardestShare:
    def test_hot_softmax_shares_equally(self) -> None:
        shares = hardest_share(PAPER.model_copy(update={"temperatures": (1e4,), "grid": 3}))
        np.testing.assert_allclose(shares.all_batches, 1 / 127, rtol=1e-3)

    def test_the_colder_the_larger(self) -> None:
        shares = hardest_share(SMALL)
        assert (np.diff(shares.all_batches, axis=0) > 0).all()

    def test_over_all_batches_it_does_not_depend_on_the_positives(self) -> None:
        near, far = (
            hardest_share(SMALL.model_copy(update={"positive_mean": mean})) for mean in (0.2, 1.4)
        )
        np.testing.assert_array_equal(near.all_batches, far.all_batches)
        assert (near.open_batches_count < far.open_batches_count).any()


POSITIVE, NEGATIVE = positive_means(SMALL.grid)[None, :], negative_means(SMALL.grid)[:, None]
RATIOS = {
    "arccon": np.sin(POSITIVE + math.radians(10)) / np.sin(POSITIVE),
    "met": np.sin(NEGATIVE / 2) / np.sin(POSITIVE / 2),  # |x - y| = 2 sin(angle / 2)
    "vicreg": 10 / (30 * 9 * np.cos(NEGATIVE)),  # N / (nu (N - 1) cos), N = 1 + 9
}


@pytest.mark.parametrize("name", RATIOS)
def test_a_ratio_that_varies_is_its_formulas_at_the_means(name: str) -> None:
    found = at_means(name, OBJECTIVES[name](), SMALL)
    formula = np.broadcast_to(RATIOS[name], found.ratio.shape)
    np.testing.assert_allclose(found.ratio, formula, rtol=1e-9)
    assert not found.is_constant


@pytest.mark.parametrize("name", ["info_nce", "mpt", "paradigm", "mhe_modified"])
def test_a_fixed_ratio_is_constant(name: str) -> None:
    assert at_means(name, OBJECTIVES[name](), SMALL).is_constant


def test_infonces_dissipation_is_of_equal_negatives() -> None:
    found = at_means("info_nce", OBJECTIVES["info_nce"](), SMALL).dissipation
    odds = np.exp((np.cos(POSITIVE) - np.cos(NEGATIVE)) / 0.05) / 9
    np.testing.assert_allclose(found, 1 / (1 + odds), rtol=1e-9)


def test_closed_gates_and_positives_further_than_negatives_are_not_visited() -> None:
    found = at_means("mpt", OBJECTIVES["mpt"](), SMALL).unvisited
    further = POSITIVE > NEGATIVE
    closed_gate = np.cos(POSITIVE) - np.cos(NEGATIVE) >= 0.23
    np.testing.assert_array_equal(found, further | closed_gate)
    assert further.any()
    assert closed_gate.any()
    assert not found.all()


def test_pieces_that_cannot_be_vectorized_are_simulated_one_by_one() -> None:
    """A number that is asked for while the piece runs is what vmap cannot give."""

    def pieces(v: Views) -> Pieces:
        margin = 0.23 if float(v.cosine.sum()) < math.inf else 0.0
        weight = piece.hardest_only(v.cosine)
        return Pieces(piece.margin_gate(v, margin=margin), weight, weight.sum(dim=1))

    mine = Recipe("mine", pieces)
    found = mean_dissipation({"mine": mine(), "mpt": OBJECTIVES["mpt"]()}, SMALL)
    np.testing.assert_array_equal(found["mine"].mean, found["mpt"].mean)
    assert at_means("mine", mine(), SMALL).is_constant
