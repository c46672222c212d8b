"""Any three pieces make an objective, and the conventions change what they say they change."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from pipeline.objectives import OBJECTIVES, Composed, Objective, Pieces, Recipe, Views
from pipeline.objectives import pieces as piece
from tests.objectives.conftest import Batch, across, make_views
from tests.objectives.reference import FACTOR_ONE_OVER_N

TOLERANCE = 1e-12  # float64


def baseline(v: Views, *, ratio: piece.Ratio = 1.0) -> Pieces:
    weight = piece.softmax_over_negatives(v.cosine, 0.05)
    pull = ratio * weight.sum(dim=1)
    return Pieces(piece.margin_gate(v), weight, pull, 1 / v.count, piece.other_view)


def softmax(v: Views, *, temperature: piece.Temperature = 0.05) -> Tensor:
    return piece.softmax_over_negatives(v.cosine, temperature)


def slopes(objective: Objective, batch: Batch) -> tuple[Tensor, Tensor]:
    anchor, positive = (x.clone().requires_grad_() for x in batch)
    first, second = torch.autograd.grad(objective(anchor, positive), (anchor, positive))
    return first, second


def assert_same_gradient(one: Objective, other: Objective, batch: Batch) -> None:
    for ours, theirs in zip(slopes(one, batch), slopes(other, batch), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=TOLERANCE)


def test_one_function_of_views_makes_an_objective_with_its_hyperparameters(batch: Batch) -> None:
    mine = Recipe("mine", baseline)
    for ratio in (1.0, 1.5):
        assert_same_gradient(mine(ratio=ratio), OBJECTIVES["paradigm"](ratio=ratio), batch)
    with pytest.raises(ValueError, match=r"mine\.ratio: -1 is out of range"):
        mine(ratio=-1)


def test_three_functions_make_an_objective_with_the_hyperparameters_of_all(batch: Batch) -> None:
    pieces = Composed(
        piece.margin_gate, softmax, piece.fixed_ratio(1.0), piece.other_view, mean=True
    )
    settings = {"margin": 0.5, "temperature": 0.1, "ratio": 1.25}
    ours, theirs = Recipe("mine", pieces)(**settings), OBJECTIVES["paradigm"](**settings)
    assert_same_gradient(ours, theirs, batch)


def test_negatives_can_be_of_the_anchors_own_view(batch: Batch) -> None:
    def nearest(v: Views) -> Pieces:
        weight = OBJECTIVES["mhs_modified"]().pieces(v).weight
        return Pieces(piece.margin_gate(v), weight, weight.sum(dim=1), 1 / v.count)

    assert_same_gradient(Recipe("mine", nearest)(), OBJECTIVES["mhs_modified"](ratio=1.0), batch)


@pytest.mark.parametrize("name", ["dissipation", "weight", "pull"])
def test_a_piece_of_a_wrong_shape_is_named(name: str, batch: Batch) -> None:
    def pieces(v: Views) -> Pieces:
        made: dict[str, Any] = {**baseline(v)._asdict(), name: v.anchor[:3]}
        return Pieces(**made)

    with pytest.raises(ValueError, match=rf"mine.{name}: expected shape .* got \(3, 5\)"):
        Recipe("mine", pieces)()(*batch)


@pytest.mark.parametrize("name", [n for n in OBJECTIVES if n.endswith("_dissipation_weight")])
def test_the_step_with_the_weight_exchanged_keeps_alignments_pull(name: str, batch: Batch) -> None:
    """Table 5: nu is 1, so the pull stays 2/N; only the push is the modified form's."""
    step = OBJECTIVES[name]().components(*batch)
    modified = OBJECTIVES[name.replace("dissipation_weight", "modified")]().components(*batch)
    assert torch.equal(step.dissipation, modified.dissipation)
    assert torch.equal(step.weight, modified.weight)
    assert (step.pull == 2 / len(step.pull)).all()


def test_mhes_pull_at_that_step_can_balance_the_push_as_the_authors_code_does(
    batch: Batch,
) -> None:
    balanced = OBJECTIVES["mhe_dissipation_weight"](mhe_weight_pull="balanced")
    assert_same_gradient(balanced, OBJECTIVES["mhe_modified"](ratio=1.0), batch)


MODIFIED = [name for name in OBJECTIVES if name.endswith("_modified") or name == "paradigm"]


@pytest.mark.parametrize("name", MODIFIED)
def test_an_attached_positive_gets_the_other_turns_pull_as_well(name: str, batch: Batch) -> None:
    """At h_i the extra is -factor d_i pull_i p_i with the other turn's pieces."""
    attached = OBJECTIVES[name](positive_gradient="both")
    only = OBJECTIVES[name](positive_gradient="anchor_only")
    for turn, (both, single) in enumerate(
        zip(slopes(attached, batch), slopes(only, batch), strict=True)
    ):
        anchor, positive = batch if turn == 0 else batch[::-1]
        components = only.components(positive, anchor)
        factor = 1 / len(anchor) if name in FACTOR_ONE_OVER_N else 1.0
        extra = -factor * (components.dissipation * components.pull)[:, None] * positive
        assert extra.norm() > 0
        torch.testing.assert_close(both - single, across(extra, anchor), rtol=0, atol=TOLERANCE)


WITH_GATE = [n for n, r in OBJECTIVES.items() if "gate" in r.hyperparameters.model_fields]


@pytest.mark.parametrize("name", WITH_GATE)
def test_the_gate_within_the_view_looks_at_the_anchors_own_neighbours(
    name: str, batch: Batch
) -> None:
    """Closed once 1 - max_{k != i} h_i.h_k >= m, whatever the positive."""
    anchor, positive = batch
    open_anchors = OBJECTIVES[name](gate="within_view").components(anchor, positive).dissipation
    own = (anchor @ anchor.T).fill_diagonal_(-1)
    assert torch.equal(open_anchors, (1 - own.amax(dim=1) < 0.3).double())
    other = OBJECTIVES[name](gate="within_view").components(anchor, positive.flip(0)).dissipation
    assert torch.equal(open_anchors, other)


def test_the_mean_can_be_over_open_anchors_only(batch: Batch) -> None:
    every, opened = (OBJECTIVES["paradigm"](mean_over=over) for over in ("all", "open"))
    turns = [Views(*batch), Views(*batch).swapped()]
    share = [every.pieces(views).dissipation.mean() for views in turns]
    assert all(0 < s < 1 for s in share)
    for ours, whole, s in zip(slopes(opened, batch), slopes(every, batch), share, strict=True):
        torch.testing.assert_close(ours * s, whole, rtol=0, atol=TOLERANCE)


GATED = [*WITH_GATE, "mpt", "met"]


@pytest.mark.parametrize("name", GATED)
def test_no_open_anchor_gives_a_zero_that_is_still_connected(name: str) -> None:
    """Orthogonal sentences with equal views lead by 1; sqrt(2) in distance."""
    eye = torch.eye(4, 6, dtype=torch.float64)
    objective = OBJECTIVES[name]()
    anchor, positive = eye.clone().requires_grad_(), eye.clone().requires_grad_()
    loss = objective(anchor, positive)
    torch.autograd.backward(loss)
    assert loss == 0
    assert anchor.grad is not None
    assert (anchor.grad == 0).all()
    assert (objective.components(eye, eye).dissipation == 0).all()


def test_no_open_anchor_is_no_division_by_zero_in_the_mean_over_open_ones() -> None:
    eye = torch.eye(4, 6, requires_grad=True)
    assert OBJECTIVES["paradigm"](mean_over="open")(eye, eye) == 0


def test_mhs_can_look_for_its_neighbour_in_the_other_view(batch: Batch) -> None:
    anchor, positive = batch
    for name in ("mhs", "mhs_dissipation", "mhs_modified"):
        weights = OBJECTIVES[name](mhs_negatives="other_view").components(anchor, positive).weight
        cosine = (anchor @ positive.T).fill_diagonal_(-2)
        assert torch.equal(weights.argmax(dim=1), cosine.argmax(dim=1))


def test_mhes_exponent_one_weighs_with_half_the_slope(batch: Batch) -> None:
    """log(w_ij / w_ik) is 2 (s_ij - s_ik) in the paper and s_ij - s_ik in the authors' code."""
    steep, flat = (OBJECTIVES["mhe"](mhe_exponent=k).components(*batch).weight for k in (2, 1))
    steepness = (steep[0, 1] / steep[0, 2]).log() / (flat[0, 1] / flat[0, 2]).log()
    assert float(steepness) == pytest.approx(2.0)


def test_arccon_without_a_margin_is_infonce(batch: Batch) -> None:
    assert_same_gradient(OBJECTIVES["arccon"](angular_margin=0.0), OBJECTIVES["info_nce"](), batch)


def test_infonces_worked_value() -> None:
    """N = 2, t = 1, c = [[1, 0], [0, 1]]: -log(e / (e + 1)) for both anchors."""
    eye = torch.eye(2, dtype=torch.float64)
    value = float(OBJECTIVES["info_nce"](temperature=1.0)(eye, eye))
    assert value == pytest.approx(-math.log(math.e / (math.e + 1)))


BOTH_TURNS = sorted(OBJECTIVES.keys() - {"info_nce", "arccon", "mpt", "met"})


@pytest.mark.parametrize("name", BOTH_TURNS)
def test_objectives_that_take_turns_do_not_care_which_view_is_first(name: str) -> None:
    anchor, positive = make_views(seed=2)
    torch.testing.assert_close(
        OBJECTIVES[name]()(anchor, positive), OBJECTIVES[name]()(positive, anchor)
    )
