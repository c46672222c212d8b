"""Losses of other libraries get a batch as each of them wants it."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pipeline.objectives import OBJECTIVES
from pipeline.objectives.adapters import CALLS, adapted, library_version, named
from pipeline.objectives.anatomy import anatomy
from tests.objectives.conftest import make_views

SENTENCE = "sentence_transformers.sentence_transformer.losses:"
METRIC = "pytorch_metric_learning.losses:"
ABSENT = "the extra `anatomy` is not installed"


def assert_is_info_nce(loss: Any, temperature: float) -> None:
    views = make_views()
    ours = OBJECTIVES["info_nce"](temperature=temperature)
    torch.testing.assert_close(loss(*views), ours(*views))
    theirs, stated = anatomy(loss, *views), anatomy(ours.loss, *views)
    torch.testing.assert_close(theirs.other, stated.other, rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(theirs.pull, stated.pull, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("loss", "values", "temperature"),
    [
        (f"{SENTENCE}MultipleNegativesRankingLoss", {"scale": 20.0}, 0.05),
        (f"{SENTENCE}CachedMultipleNegativesRankingLoss", {"scale": 20.0}, 0.05),
        (f"{METRIC}NPairsLoss", {}, 1.0),
    ],
)
def test_what_is_info_nce_by_another_name_has_its_value_and_gradient(
    loss: str, values: dict[str, float], temperature: float
) -> None:
    pytest.importorskip(loss.partition(".")[0], reason=ABSENT)
    assert_is_info_nce(named(loss, values), temperature)


def test_a_loss_that_holds_a_model_gets_the_embeddings_past_it() -> None:
    theirs: Any = pytest.importorskip("sentence_transformers.sentence_transformer.losses")

    class Unused(nn.Module):
        def forward(self, features: object) -> object:
            raise AssertionError

    assert_is_info_nce(adapted(theirs.MultipleNegativesRankingLoss(Unused())), 0.05)


def test_triplets_and_pairs_are_all_there_are() -> None:
    """All N (N - 1) triplets at a margin that all miss: mean of d_ii - d_ij + m."""
    pytest.importorskip("sentence_transformers", reason=ABSENT)
    anchor, positive = make_views()
    distance = torch.cdist(anchor, positive)
    lead = (distance.diagonal()[:, None] - distance + 5)[~torch.eye(7, dtype=torch.bool)]
    found = named(f"{SENTENCE}TripletLoss", {"triplet_margin": 5})(anchor, positive)
    torch.testing.assert_close(found, lead.mean(), rtol=1e-4, atol=0)
    target = torch.eye(7, dtype=torch.float64)
    found = named(f"{SENTENCE}CosineSimilarityLoss", {})(anchor, positive)
    torch.testing.assert_close(found, (anchor @ positive.T - target).square().mean())


WORKING = [
    *(f"{METRIC}{name}Loss" for name in ("Circle", "MultiSimilarity", "SupCon", "VICReg")),
    *(f"{SENTENCE}{name}Loss" for name in ("CoSENT", "AnglE", "Contrastive", "BatchHardTriplet")),
]


@pytest.mark.parametrize("loss", WORKING)
def test_each_kind_can_be_taken_apart(loss: str) -> None:
    pytest.importorskip(loss.partition(".")[0], reason=ABSENT)
    seen = anatomy(named(loss, {}), *make_views(count=6, dimension=32, noise=0.5))
    assert (seen.push.abs().sum() + seen.pull.abs().sum()) > 0


def test_a_library_with_two_views_is_called_with_them_and_its_odd_ones_as_they_want() -> None:
    """Lightly's losses, in whose manner these are called: it is too large to install for a test."""

    class TwoViews(nn.Module):
        __module__ = "lightly.loss"

        def forward(self, first: Tensor, second: Tensor) -> Tensor:
            return (first - second).square().sum()

    class WMSELoss(nn.Module):
        __module__ = "lightly.loss"

        def forward(self, both: Tensor) -> Tensor:
            first, second = both.chunk(2)
            return (first - second).square().sum()

    class FroSSLLoss(nn.Module):
        __module__ = "lightly.loss"

        def forward(self, views: list[Tensor]) -> Tensor:
            return (views[0] - views[1]).square().sum()

    views = make_views()
    expected = (views[0] - views[1]).square().sum()
    for loss in (TwoViews(), WMSELoss(), FroSSLLoss()):
        assert adapted(loss)(*views) == expected
    assert {"WMSELoss", "FroSSLLoss"} < set(CALLS["lightly"])


def test_what_is_of_no_library_takes_the_two_views() -> None:
    def mine(anchor: Tensor, positive: Tensor) -> Tensor:
        return (anchor * positive).sum()

    assert adapted(mine) is mine


def test_only_what_was_installed_has_a_version() -> None:
    assert torch.__version__.startswith(library_version("torch.nn:Module")["torch"])
    assert library_version("info_nce") == {}
    assert library_version("nowhere:Loss") == {}
