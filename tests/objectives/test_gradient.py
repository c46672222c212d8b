"""Every objective's gradient is the paradigm's: factor times dissipation, weight and ratio."""

import numpy as np
import pytest
import torch
from torch import Tensor

from pipeline.objectives import OBJECTIVES
from pipeline.objectives.barlow_twins import batch_normalize, redundancy_loss
from pipeline.objectives.vicreg import VARIANCE_EPSILON
from pipeline.objectives.views import Views
from pipeline.paper.simulation.draws import prescribed
from tests.objectives.conftest import Batch, across, loss_on, make_views
from tests.objectives.reference import CONTRASTIVE, REFERENCES, gradient

TOLERANCE = 1e-10  # float64
SEEDS = range(4)


def embeddings_of(name: str, seed: int) -> Batch:
    """What the formulas speak of: batch-normalized for the textbook Barlow Twins, else unit."""
    anchor, positive = make_views(seed=seed)
    if name == "barlow_twins_batch_norm":
        return batch_normalize(anchor), batch_normalize(positive)
    return anchor, positive


def autograd(name: str, anchor: Tensor, positive: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Gradients at the normalized embeddings, radial part removed, both (N, D)."""
    leaves = anchor.clone().requires_grad_(), positive.clone().requires_grad_()
    torch.autograd.backward(loss_on(OBJECTIVES[name](), Views(*leaves)))
    first, second = (across(leaf.grad, leaf.detach()) for leaf in leaves if leaf.grad is not None)
    return first.numpy(), second.numpy()


def expected(name: str, anchor: Tensor, positive: Tensor) -> np.ndarray:
    """The reference gradient at the anchor's view, radial part removed."""
    formula = torch.from_numpy(gradient(name, anchor.numpy(), positive.numpy()))
    return across(formula, anchor).numpy()


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("seed", SEEDS)
def test_components_are_the_papers(name: str, seed: int) -> None:
    anchor, positive = embeddings_of(name, seed)
    components = OBJECTIVES[name]().components(*make_views(seed=seed))
    dissipation, weight, ratio = REFERENCES[name](anchor.numpy(), positive.numpy())
    pull = (weight * ratio).sum(axis=1)
    reference = (dissipation, weight, pull, pull / weight.sum(axis=1))
    for ours, theirs in zip(components, reference, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("name", sorted(OBJECTIVES.keys() - {"vicreg_centred", "mhs"}))
@pytest.mark.parametrize("seed", SEEDS)
def test_the_gradient_is_factor_times_pieces_at_the_anchors_and_at_views_that_take_turns(
    name: str, seed: int
) -> None:
    anchor, positive = embeddings_of(name, seed)
    at_anchor, at_positive = autograd(name, anchor, positive)
    formula = expected(name, anchor, positive)
    np.testing.assert_allclose(at_anchor, formula, rtol=TOLERANCE, atol=TOLERANCE)
    if name not in CONTRASTIVE:
        formula = expected(name, positive, anchor)
        np.testing.assert_allclose(at_positive, formula, rtol=TOLERANCE, atol=TOLERANCE)


# Lengths count, or the batch decides them.
OTHER_LENGTHS = {"vicreg_centred", "barlow_twins_batch_norm"}


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_anchor_gradient_is_the_papers_whatever_the_embeddings_lengths(
    name: str, seed: int
) -> None:
    first, second = (1, 1) if name in OTHER_LENGTHS else (5, 0.1)
    anchor, positive = make_views(seed=seed)
    found = OBJECTIVES[name]().anchor_gradient(first * anchor, second * positive)
    formula = expected(name, *embeddings_of(name, seed))
    np.testing.assert_allclose(found, formula, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("name", CONTRASTIVE)
def test_a_contrastive_objectives_positives_get_its_pieces_by_column(
    name: str, batch: Batch
) -> None:
    """At p_j: (1/N) (sum_{i != j} d_i w_ij h_i - d_j pull_j h_j)."""
    anchor, positive = batch
    _, at_positive = autograd(name, anchor, positive)
    d, w, pull, _ = OBJECTIVES[name]().components(anchor, positive)
    formula = ((d[:, None] * w).T @ anchor - (d * pull)[:, None] * anchor) / len(anchor)
    np.testing.assert_allclose(at_positive, across(formula, positive), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("name", CONTRASTIVE)
def test_a_contrastive_objective_depends_on_cosines_through_its_pieces(
    name: str, batch: Batch
) -> None:
    """N dL/dc_ij is d_i w_ij off the diagonal and -d_i pull_i on it."""
    cosine = Views(*batch).cosine.requires_grad_()
    views = prescribed(cosine)
    objective = OBJECTIVES[name]()
    (slope,) = torch.autograd.grad(loss_on(objective, views), cosine)
    d, w, pull, _ = objective.components(*batch)
    formula = d[:, None] * w - (d * pull).diag()
    torch.testing.assert_close(len(cosine) * slope, formula, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_mhs_adds_the_push_on_an_embedding_as_anothers_nearest_neighbour(seed: int) -> None:
    """The closed form carries gradient through both ends of a nearest pair."""
    anchor, positive = make_views(seed=seed)
    at_anchor, _ = autograd("mhs", anchor, positive)
    weight = OBJECTIVES["mhs"]().components(anchor, positive).weight
    reciprocal = across(weight.T @ anchor, anchor).numpy()
    formula = expected("mhs", anchor, positive) + reciprocal
    np.testing.assert_allclose(at_anchor, formula, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_textbook_vicreg_adds_two_terms_that_scale_features(seed: int) -> None:
    """The covariance's diagonal, -(2 nu / N) C_diag x_i, and the hinge's -x_k / ((N-1) s_k)."""
    anchor, positive = make_views(seed=seed)
    at_anchor, _ = autograd("vicreg_centred", anchor, positive)
    x, n = anchor - anchor.mean(dim=0), len(anchor)
    diagonal = x.square().mean(dim=0)
    deviation = (anchor.var(dim=0) + VARIANCE_EPSILON).sqrt()
    assert (deviation < 1).all(), "every feature's hinge is active in this batch"
    scaled = -2 * 30.0 / n * diagonal * x - x / ((n - 1) * deviation)
    own = 2 * 30.0 / n**2 * x.square().sum(dim=1, keepdim=True) * x  # j = i of the sum over j
    pieces = torch.from_numpy(gradient("vicreg_centred", anchor.numpy(), positive.numpy()))
    formula = across(pieces + own + scaled, anchor).numpy()
    np.testing.assert_allclose(at_anchor, formula, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_barlow_twins_has_the_closed_forms_gradient(seed: int) -> None:
    anchor, positive = (x.clone().requires_grad_() for x in make_views(seed=seed))
    closed = redundancy_loss(None, Views(anchor, positive), redundancy_coefficient=30.0)
    slopes = torch.autograd.grad(closed, (anchor, positive))
    ours = autograd("barlow_twins", anchor.detach(), positive.detach())
    for slope, our, view in zip(slopes, ours, (anchor, positive), strict=True):
        np.testing.assert_allclose(our, across(slope, view.detach()), rtol=0, atol=TOLERANCE)


CLOSED = (*CONTRASTIVE, "mhe", "mhs", "barlow_twins_batch_norm", "vicreg_centred")


@pytest.mark.parametrize("name", OBJECTIVES)
def test_only_closed_forms_have_a_value_that_their_gradient_belongs_to(name: str) -> None:
    leaves = tuple(x.clone().requires_grad_() for x in make_views(count=5, noise=0.6, seed=3))
    holds = torch.autograd.gradcheck(OBJECTIVES[name](), leaves, raise_exception=False)
    assert holds == (name in CLOSED)
