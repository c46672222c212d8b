"""Any three pieces make an objective, and the conventions change what they say they change."""

import dataclasses
import math

import pytest
import torch
from torch import Tensor

from pipeline.objectives import OBJECTIVES, Objective, Paradigm, from_pieces
from pipeline.objectives.dissipation import constant, margin_gate
from pipeline.objectives.ratio import fixed
from pipeline.objectives.views import Views
from pipeline.objectives.weight import softmax_over_negatives
from tests.objectives.conftest import Batch, across, make_views
from tests.objectives.reference import FACTOR_ONE_OVER_N

TOLERANCE = 1e-12  # float64


def gate(views: Views) -> Tensor:
    return margin_gate(views, 0.3, "cross_view")


def weight(views: Views) -> Tensor:
    return softmax_over_negatives(views.cosine, 0.05)


def ratio(views: Views) -> Tensor:
    return fixed(views, 1.0)


def slopes(objective: Objective, batch: Batch) -> tuple[Tensor, Tensor]:
    anchor, positive = (x.clone().requires_grad_() for x in batch)
    first, second = torch.autograd.grad(objective(anchor, positive), (anchor, positive))
    return first, second


def assert_same_gradient(one: Objective, other: Objective, batch: Batch) -> None:
    for ours, theirs in zip(slopes(one, batch), slopes(other, batch), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=TOLERANCE)


def test_the_baseline_is_a_paradigm_of_gate_softmax_and_fixed_ratio(batch: Batch) -> None:
    assert_same_gradient(Paradigm(gate, weight, ratio), OBJECTIVES["paradigm"](), batch)


def test_negatives_can_be_of_the_anchors_own_view(batch: Batch) -> None:
    """With own-view negatives, weights of the own view and 1/N, MHS's modified form appears."""
    modified = OBJECTIVES["mhs_modified"](ratio=1.0)

    def nearest(views: Views) -> Tensor:
        weight: Tensor = modified.pieces(views).weight
        return weight

    assert_same_gradient(Paradigm(gate, nearest, ratio, negatives="own_view"), modified, batch)


def test_what_a_weight_puts_on_the_diagonal_is_ignored(batch: Batch) -> None:
    def with_diagonal(views: Views) -> Tensor:
        return weight(views) + 5 * torch.eye(views.count, dtype=views.anchor.dtype)

    one, other = Paradigm(gate, with_diagonal, ratio), Paradigm(gate, weight, ratio)
    assert (one.components(*batch).weight.diagonal() == 0).all()
    assert_same_gradient(one, other, batch)


PIECES = {"dissipation": gate, "weight": weight, "ratio": ratio}


@pytest.mark.parametrize("piece", PIECES)
def test_a_piece_of_a_wrong_shape_is_named(piece: str, batch: Batch) -> None:
    def cut(views: Views) -> Tensor:
        return views.anchor[:3]

    pieces = (cut if piece == name else good for name, good in PIECES.items())
    with pytest.raises(ValueError, match=rf"Paradigm.{piece}: expected shape .* got \(3, 5\)"):
        Paradigm(*pieces)(*batch)


def test_pieces_make_a_class_for_the_table_that_has_no_hyperparameters(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = from_pieces("mine", dissipation=gate, weight=weight, ratio=ratio)
    monkeypatch.setitem(OBJECTIVES, "mine", mine)
    assert dataclasses.fields(OBJECTIVES["mine"]) == ()
    assert OBJECTIVES["mine"]() == OBJECTIVES["mine"]()
    assert repr(OBJECTIVES["mine"]()) == "mine()"
    assert_same_gradient(OBJECTIVES["mine"](), OBJECTIVES["paradigm"](), batch)


def test_classes_made_of_pieces_keep_theirs(batch: Batch) -> None:
    made = from_pieces("one", dissipation=constant, weight=weight, ratio=ratio)()
    other = from_pieces("other", **PIECES, negatives="own_view")()
    assert_same_gradient(made, Paradigm(constant, weight, ratio), batch)
    assert_same_gradient(other, Paradigm(gate, weight, ratio, negatives="own_view"), batch)


@pytest.mark.parametrize("piece", PIECES)
def test_a_made_classs_piece_of_a_wrong_shape_is_named(piece: str, batch: Batch) -> None:
    made = from_pieces("mine", **PIECES | {piece: lambda views: views.anchor[:3]})
    with pytest.raises(ValueError, match=rf"mine.{piece}: expected shape .* got \(3, 5\)"):
        made()(*batch)


def test_a_made_class_takes_its_negatives_from_one_of_the_two_views() -> None:
    with pytest.raises(ValueError, match="negatives: 'sideways' is not one of "):
        from_pieces("mine", **PIECES, negatives="sideways")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", OBJECTIVES)
def test_each_piece_can_be_asked_for_alone(name: str, batch: Batch) -> None:
    objective = OBJECTIVES[name]()
    views = Views(objective.normalise(batch[0]), objective.normalise(batch[1]))
    d, w, r = objective.components(*batch)
    assert torch.equal(objective.dissipation_of(views), d)
    assert torch.equal(objective.weight_of(views), w)
    assert torch.equal(objective.ratio_of(views), r)


def test_a_gradient_step_on_any_pieces_moves_open_anchors_as_the_formula_says() -> None:
    """d = 1, w = 1 for every negative, r = 2 at N = 2: the gradient at h_0 is (p_1 - 2 p_0) / 2."""
    anchor = torch.eye(2, 3, dtype=torch.float64)
    positive = torch.tensor([[0.6, 0.8, 0.0], [0.0, 0.6, 0.8]], dtype=torch.float64)
    ones = Paradigm(constant, lambda v: fixed(v, 1.0), lambda v: fixed(v, 2.0))
    at_anchor, _ = slopes(ones, (anchor, positive))
    formula = (positive[1] - 2 * positive[0]) / 2
    tangent = formula - formula[0] * anchor[0]
    torch.testing.assert_close(at_anchor[0], tangent, rtol=0, atol=TOLERANCE)


MODIFIED = [name for name in OBJECTIVES if name.endswith("_modified") or name == "paradigm"]


@pytest.mark.parametrize("name", MODIFIED)
def test_an_attached_positive_gets_the_other_turns_pull_as_well(name: str, batch: Batch) -> None:
    """At h_i the extra is -factor d_i (sum_j w_ij r_ij) p_i with the other turn's pieces."""
    attached = OBJECTIVES[name](positive_gradient="both")
    only = OBJECTIVES[name](positive_gradient="anchor_only")
    for turn, (both, single) in enumerate(
        zip(slopes(attached, batch), slopes(only, batch), strict=True)
    ):
        anchor, positive = batch if turn == 0 else batch[::-1]
        d, w, r = only.components(positive, anchor)
        factor = 1 / len(anchor) if name in FACTOR_ONE_OVER_N else 1.0
        extra = -factor * (d * (w * r).sum(dim=1))[:, None] * positive
        assert extra.norm() > 0
        torch.testing.assert_close(both - single, across(extra, anchor), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("name", [n for n in OBJECTIVES if hasattr(OBJECTIVES[n], "gate")])
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
    turns = [Views(*batch), Views(*batch).turned()]
    share = [every.pieces(views).dissipation.mean() for views in turns]
    assert all(0 < s < 1 for s in share)
    for ours, whole, s in zip(slopes(opened, batch), slopes(every, batch), share, strict=True):
        torch.testing.assert_close(ours * s, whole, rtol=0, atol=TOLERANCE)


GATED = [name for name in OBJECTIVES if hasattr(OBJECTIVES[name], "margin") or name == "met"]


@pytest.mark.parametrize("name", GATED)
def test_no_open_anchor_gives_a_zero_that_is_still_connected(name: str) -> None:
    """Orthogonal sentences with equal views lead by 1; sqrt(2) in distance."""
    eye = torch.eye(4, 6, dtype=torch.float64)
    objective = OBJECTIVES[name]()
    anchor, positive = eye.clone().requires_grad_(), eye.clone().requires_grad_()
    loss = objective(anchor, positive)
    loss.backward()
    assert loss == 0
    assert anchor.grad is not None
    assert (anchor.grad == 0).all()
    assert (objective.components(eye, eye).dissipation == 0).all()


def test_no_open_anchor_is_no_division_by_zero_in_the_mean_over_open_ones() -> None:
    eye = torch.eye(4, 6, requires_grad=True)
    loss = OBJECTIVES["paradigm"](mean_over="open")(eye, eye)
    assert loss == 0


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
