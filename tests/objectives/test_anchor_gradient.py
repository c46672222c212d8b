"""The gradient at the anchors, put together from its pieces, is the one that training follows."""

import numpy as np
import pytest
import torch
from torch import Tensor

from pipeline.objectives import OBJECTIVES
from pipeline.objectives.views import Views
from tests.objectives.conftest import Batch, across, loss_on, make_views
from tests.objectives.reference import gradient

TOLERANCE = 1e-10  # float64
# Their losses have further terms: see test_gradient.py.
MORE_TERMS = {"vicreg_centred", "mhs"}
# Their formulas speak of embeddings that are not of length one.
OTHER_LENGTHS = {"vicreg_centred", "barlow_twins_batch_norm"}
# Their loss pulls with a matrix, of which the ratio is the part along the positive.
MATRIX = {"barlow_twins", "barlow_twins_batch_norm", "barlow_twins_dissipation"}


def spoken(name: str, batch: Batch) -> Batch:
    normalize = OBJECTIVES[name]().normalize
    return normalize(batch[0]), normalize(batch[1])


def autograd(name: str, batch: Batch) -> Tensor:
    """Of the loss, at the first view's normalized embeddings, radial part removed."""
    anchor, positive = spoken(name, batch)
    leaf = anchor.clone().requires_grad_()
    (slope,) = torch.autograd.grad(loss_on(OBJECTIVES[name](), Views(leaf, positive)), leaf)
    return across(slope, anchor)


@pytest.mark.parametrize(
    "name", sorted(OBJECTIVES.keys() - MORE_TERMS - {"barlow_twins_batch_norm"})
)
@pytest.mark.parametrize("seed", range(4))
def test_it_is_that_of_the_loss(name: str, seed: int) -> None:
    batch = make_views(seed=seed)
    found = OBJECTIVES[name]().anchor_gradient(*batch)
    torch.testing.assert_close(found, autograd(name, batch), rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("name", sorted(OBJECTIVES.keys() - MATRIX))
def test_it_is_the_papers_formula(name: str) -> None:
    anchor, positive = make_views(seed=7)
    formula = torch.from_numpy(gradient(name, anchor.numpy(), positive.numpy()))
    found = OBJECTIVES[name]().anchor_gradient(anchor, positive)
    expected = across(formula, anchor).numpy()
    np.testing.assert_allclose(found.numpy(), expected, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_it_leads_nowhere_along_the_anchor_itself(name: str) -> None:
    batch = make_views(seed=3)
    found = OBJECTIVES[name]().anchor_gradient(*batch)
    anchor = spoken(name, batch)[0]
    assert (found * torch.nn.functional.normalize(anchor, dim=1)).sum(dim=1).abs().max() < TOLERANCE


@pytest.mark.parametrize("name", sorted(OBJECTIVES.keys() - OTHER_LENGTHS))
def test_it_does_not_depend_on_the_embeddings_lengths(name: str) -> None:
    anchor, positive = make_views(seed=3)
    objective = OBJECTIVES[name]()
    torch.testing.assert_close(
        objective.anchor_gradient(5 * anchor, 0.1 * positive),
        objective.anchor_gradient(anchor, positive),
    )


@pytest.mark.parametrize("name", OBJECTIVES)
def test_anchors_of_length_zero_have_a_finite_one(name: str) -> None:
    anchor, positive = make_views()
    anchor[2], positive[3] = 0, 0
    assert OBJECTIVES[name]().anchor_gradient(anchor, positive).isfinite().all()


@pytest.mark.parametrize("name", OBJECTIVES)
def test_views_of_a_wrong_shape_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="must have one shape"):
        OBJECTIVES[name]().anchor_gradient(torch.ones(4, 8), torch.ones(5, 8))


def test_barlow_twins_pulls_with_its_whole_matrix() -> None:
    """What the components leave out is across the positive only."""
    anchor, positive = make_views(seed=1)
    objective = OBJECTIVES["barlow_twins"]()
    d, w, pull, _ = objective.components(anchor, positive)
    along = d[:, None] * (w @ anchor - pull[:, None] * positive)
    rest = across(along, anchor) - objective.anchor_gradient(anchor, positive)
    assert rest.abs().max() > 1e-3
