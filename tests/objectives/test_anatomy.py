"""Anatomy: the coefficients of any loss's gradient are those that its objective states."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from pipeline.machine.errors import CollapseError, InputError
from pipeline.objectives import OBJECTIVES
from pipeline.objectives.anatomy import (
    INVARIANT,
    JITTER,
    Loss,
    Placed,
    anatomy,
    dependence,
    units,
)
from tests.objectives.conftest import Batch, make_views

TOLERANCE = 1e-8  # of a batch's largest coefficient
# Functions of the axes, too: a matrix before the positive, or the textbooks' statistics by feature.
OF_AXES = {
    "barlow_twins",
    "barlow_twins_batch_norm",
    "barlow_twins_dissipation",
    "vicreg_centred",
}
# Its pieces are those of an anchor's own term; see the test of both ends of a nearest pair.
OF_COSINES = sorted(OBJECTIVES.keys() - OF_AXES - {"mhs"})


def few_dimensions() -> Batch:
    return make_views(count=24, dimension=16)


def many_dimensions() -> Batch:
    return make_views(count=24, dimension=100, noise=0.1)


def collapsed() -> Batch:
    anchor, positive = make_views(count=24, dimension=16)
    return 1 + 0.1 * anchor, 1 + 0.1 * positive


def duplicates() -> Batch:
    anchor, positive = make_views(count=12, dimension=16)
    return anchor.repeat(2, 1), positive.repeat(2, 1)


def antipodes() -> Batch:
    anchor, positive = make_views(count=12, dimension=16)
    return torch.cat([anchor, -anchor]), torch.cat([positive, -positive])


COPIES = torch.eye(12, dtype=torch.float64).repeat(2, 1)  # adds up the columns of two copies
BATCHES = [few_dimensions, many_dimensions, collapsed, duplicates, antipodes]
each_batch = pytest.mark.parametrize("make", BATCHES, ids=lambda make: make.__name__)


def assert_near(actual: Tensor, expected: Tensor, scale: Tensor) -> None:
    assert actual.shape == expected.shape
    assert float((actual - expected).abs().max()) <= TOLERANCE * float(scale)


@each_batch
@pytest.mark.parametrize("name", OF_COSINES)
def test_coefficients_are_factor_times_dissipation_times_the_components(
    name: str, make: Callable[[], Batch]
) -> None:
    views, objective = make(), OBJECTIVES[name]()
    seen = anatomy(objective.loss, *views, turned=0)
    placed = Placed.of(*views).views
    stated = objective.components(placed.anchor, placed.positive)
    scale = (objective.pieces(placed).factor * stated.dissipation)[:, None]
    push, pull = scale * stated.weight, scale[:, 0] * stated.pull
    largest = torch.cat([push, pull[:, None]], dim=1).abs().max()
    assert_near(seen.pull, pull, largest)
    if make is duplicates:  # which of two equal negatives is the hardest is rounding's choice
        assert_near(seen.push @ COPIES, push @ COPIES, largest)
    else:
        assert_near(seen.push, push, largest)
    strong = seen.total.abs() > 1e-3 * largest
    torch.testing.assert_close(seen.ratio[strong], stated.ratio[strong], rtol=1e-5, atol=0)
    assert seen.residual == 0


@each_batch
def test_a_placed_batch_has_the_cosines_of_the_batch_in_independent_rows(
    make: Callable[[], Batch],
) -> None:
    views = make()
    embeddings = Placed.of(*views).embeddings
    given = units(*views)
    assert float((embeddings @ embeddings.T - given @ given.T).abs().max()) < 2 * JITTER
    assert torch.linalg.matrix_rank(embeddings, atol=1e-7) == len(embeddings)


def test_a_nearest_pair_is_pushed_from_both_ends() -> None:
    """MHS' closed form carries gradient through both."""
    views, objective = few_dimensions(), OBJECTIVES["mhs"]()
    weight = objective.components(*views).weight
    seen = anatomy(objective.loss, *views)
    torch.testing.assert_close(seen.own, weight + weight.T, rtol=1e-7, atol=1e-9)
    assert (seen.other == 0).all()


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_loss_that_depends_on_axes_is_told_from_one_that_does_not(name: str) -> None:
    assert (dependence(OBJECTIVES[name]().loss) > INVARIANT) == (name in OF_AXES)


@pytest.mark.parametrize("name", sorted(OF_AXES))
def test_least_squares_say_how_much_of_the_gradient_they_explain(name: str) -> None:
    """In 100 dimensions 2 x 24 embeddings span half of the axes."""
    anchor, positive = make_views(count=24, dimension=100)  # some of the gates are open
    seen = anatomy(OBJECTIVES[name]().loss, anchor, positive)
    assert seen.dependence > 0.01
    assert 0.01 < seen.residual < 1


def test_what_two_losses_share_of_the_axes_is_left_and_what_cosines_explain_is_found() -> None:
    """VICReg's own loss is a function of cosines and the other's coefficients are near to it."""
    anchor, positive = many_dimensions()
    seen = anatomy(OBJECTIVES["vicreg_centred"](variance_coefficient=0.0).loss, anchor, positive)
    stated = OBJECTIVES["vicreg_centred"]().components(anchor, positive)
    both = torch.stack([seen.push.flatten(), stated.weight.flatten()])
    assert float(torch.corrcoef(both)[0, 1]) > 0.9


@pytest.mark.parametrize("name", ["info_nce", "mpt", "met", "vicreg_modified", "mhe", "vicreg"])
def test_dissipation_is_the_share_of_what_an_anchor_pushes_without_its_positive(name: str) -> None:
    """For gates and for a softmax of t = 0.05 that is what the objective states."""
    views = make_views(count=12, dimension=16)
    seen = anatomy(OBJECTIVES[name]().loss, *views, turned=12)
    stated = OBJECTIVES[name]().components(*views).dissipation
    torch.testing.assert_close(seen.dissipation, stated, rtol=0, atol=1e-6)


def test_dissipation_is_measured_on_as_many_anchors_as_asked() -> None:
    seen = anatomy(OBJECTIVES["mhe"]().loss, *few_dimensions(), turned=5)
    assert int(seen.dissipation.isfinite().sum()) == 5


def test_dissipation_is_undefined_where_nothing_is_pushed() -> None:
    def alignment_alone(anchor: Tensor, positive: Tensor) -> Tensor:
        return (anchor - positive).square().sum()

    seen = anatomy(alignment_alone, *few_dimensions())
    assert seen.dissipation.isnan().all()
    assert (seen.push == 0).all()
    torch.testing.assert_close(seen.pull, torch.full_like(seen.pull, 2.0))


def test_dissipation_is_measured_where_a_loss_has_no_gradient_at_cosine_minus_one() -> None:
    """A softmax over angles, whose arc cosines have none there."""

    def loss(anchor: Tensor, positive: Tensor) -> Tensor:
        angles = torch.acos(normalize(anchor) @ normalize(positive).T)
        return cross_entropy(-angles, torch.arange(len(anchor)))

    assert anatomy(loss, *make_views(seed=3), turned=99).dissipation.isfinite().all()


def test_embeddings_of_any_length_and_precision_are_taken_as_directions() -> None:
    anchor, positive = few_dimensions()
    loss = OBJECTIVES["info_nce"]().loss
    usual = anatomy(loss, anchor, positive)
    scaled = anatomy(loss, 7 * anchor, (0.1 * positive).float())
    torch.testing.assert_close(scaled.push, usual.push, rtol=1e-4, atol=1e-6)


def test_a_gradient_in_progress_is_left_alone() -> None:
    anchor, positive = (x.requires_grad_() for x in few_dimensions())
    with torch.no_grad():
        anatomy(OBJECTIVES["mhe"]().loss, anchor, positive)
    assert anchor.grad is None


def test_512_sentences_can_be_taken_apart() -> None:
    views = make_views(count=512, dimension=64)
    objective = OBJECTIVES["info_nce"]()
    seen = anatomy(objective.loss, *views, turned=1)
    stated = objective.components(*views)
    push = stated.dissipation[:, None] * stated.weight / 512
    torch.testing.assert_close(seen.push, push, rtol=0, atol=1e-8)


NO_LOSSES: dict[str, tuple[Callable[[Tensor, Tensor], Any], str]] = {
    "raises": (
        lambda *_: "anchor".index("x"),
        "fails on two views of shape (7, 64) (ValueError: substring not found).",
    ),
    "vector": (lambda h, p: (h * p).sum(1), "must give one number for a batch, got shape (7,)."),
    "number": (lambda *_: 0.5, "must give one number for a batch, got float."),
    "not a number": (
        lambda h, p: (h * p).sum() * torch.nan,
        "its gradient holds NaN or infinity on a finite batch.",
    ),
    "deaf": (
        lambda *_: torch.ones((), requires_grad=True),
        "does not depend on the embeddings, so it has no gradient.",
    ),
    "detached": (
        lambda h, p: (h * p).sum().detach(),
        "does not depend on the embeddings, so it has no gradient.",
    ),
}


@pytest.mark.parametrize(("loss", "sentence"), NO_LOSSES.values(), ids=NO_LOSSES)
def test_what_is_no_loss_of_two_views_gets_one_sentence(loss: Loss, sentence: str) -> None:
    with pytest.raises(InputError, match=f"^mine: {re.escape(sentence)}$"):
        anatomy(loss, *make_views(), name="mine")


def test_views_that_no_loss_can_use_are_refused() -> None:
    loss = OBJECTIVES["info_nce"]().loss
    with pytest.raises(ValueError, match="needs at least 2 sentences"):
        anatomy(loss, torch.ones(1, 3), torch.ones(1, 3))
    with pytest.raises(CollapseError, match="1 of 2 anchor embeddings"):
        anatomy(loss, torch.tensor([[1.0], [torch.nan]]), torch.ones(2, 1))
