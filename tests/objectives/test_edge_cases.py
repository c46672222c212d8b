"""Objectives on what training can run into: finite everywhere, or refused in one sentence."""

import os
import subprocess
import sys

import pytest
import torch
from torch import Tensor

from pipeline.machine.errors import CollapseError
from pipeline.objectives import OBJECTIVES, Objective
from tests.objectives.conftest import Batch, make_views


def normal(count: int, dimension: int = 16, seed: int = 0) -> Tensor:
    return torch.randn(count, dimension, generator=torch.Generator().manual_seed(seed))


ANCHOR, POSITIVE = normal(8), normal(8, seed=1)
PART = normal(4)
SOME = torch.tensor([[1.0]] * 2 + [[0.0]] * 2 + [[1.0]] * 4)
BATCHES: dict[str, Batch] = {
    "identical views": (ANCHOR, ANCHOR),
    "duplicate sentences": (PART.repeat(2, 1), normal(4, seed=1).repeat(2, 1)),
    "all equal": (torch.ones(8, 16), torch.ones(8, 16)),
    "antipodal vectors": (torch.cat([PART, -PART]), torch.cat([-PART, PART])),
    "zero vectors": (ANCHOR * SOME, POSITIVE * SOME.roll(1, 0)),
    "only zero vectors": (torch.zeros(4, 16), torch.zeros(4, 16)),
    "two sentences": (normal(2), normal(2, seed=1)),
    "many sentences": (normal(1024), normal(1024, seed=1)),
    "one dimension": (normal(6, 1), normal(6, 1, seed=1)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("name", OBJECTIVES)
def test_values_gradients_and_components_are_finite(
    name: str, batch: Batch, dtype: torch.dtype
) -> None:
    check_finite(OBJECTIVES[name](), *(view.to(dtype) for view in batch))


SCALE_FREE = sorted(OBJECTIVES.keys() - {"vicreg_centred", "barlow_twins_batch_norm"})


@pytest.mark.parametrize("length", [1e15, 1e-15])
@pytest.mark.parametrize("name", SCALE_FREE)
def test_objectives_on_normalized_embeddings_bear_any_length(name: str, length: float) -> None:
    check_finite(OBJECTIVES[name](), length * ANCHOR, length * POSITIVE)


def check_finite(objective: Objective, anchor: Tensor, positive: Tensor) -> None:
    leaves = anchor.clone().requires_grad_(), positive.clone().requires_grad_()
    loss = objective(*leaves)
    torch.autograd.backward(loss)
    assert loss.shape == ()
    assert loss.isfinite()
    for leaf in leaves:
        assert leaf.grad is not None, "every loss is connected to both views' graphs"
        assert leaf.grad.isfinite().all()
    count = len(anchor)
    components = objective.components(anchor, positive)
    shapes = [(count,), (count, count), (count,), (count,)]
    assert [tuple(piece.shape) for piece in components] == shapes
    assert all(piece.isfinite().all() for piece in components[:3])
    assert objective.anchor_gradient(anchor, positive).isfinite().all()
    pushed = components.weight.sum(dim=1) != 0
    assert components.ratio[pushed].isfinite().all()
    assert (components.weight.diagonal() == 0).all()
    assert ((components.dissipation >= 0) & (components.dissipation <= 1)).all()


@pytest.mark.parametrize("name", OBJECTIVES)
def test_under_bf16_autocast_similarities_and_loss_stay_in_float32(name: str) -> None:
    """A matrix product under autocast would round cosines to 8 bits."""
    anchor, positive = (x.float() for x in make_views(count=32, dimension=16))
    objective = OBJECTIVES[name]()
    with torch.autocast("cpu", torch.bfloat16):
        under_autocast = objective(anchor, positive)
        components = objective.components(anchor, positive)
    assert under_autocast.dtype == torch.float32
    assert torch.equal(under_autocast, objective(anchor, positive))
    assert all(map(torch.equal, components, objective.components(anchor, positive)))


@pytest.mark.parametrize("name", OBJECTIVES)
def test_bf16_embeddings_are_taken_in_float32(name: str) -> None:
    anchor, positive = (x.bfloat16().requires_grad_() for x in make_views(count=8))
    loss = OBJECTIVES[name]()(anchor, positive)
    torch.autograd.backward(loss)
    assert loss.dtype == torch.float32
    assert anchor.grad is not None
    assert anchor.grad.isfinite().all()


@pytest.mark.parametrize("name", OBJECTIVES)
def test_equal_embeddings_give_equal_results_whatever_their_order(name: str) -> None:
    anchor, positive = make_views(count=9)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(1))
    objective = OBJECTIVES[name]()
    torch.testing.assert_close(
        objective(anchor, positive), objective(anchor[order], positive[order])
    )
    components = objective.components(anchor, positive)
    permuted = objective.components(anchor[order], positive[order])
    torch.testing.assert_close(permuted.weight, components.weight[order][:, order])
    for piece in ("dissipation", "pull", "ratio"):
        torch.testing.assert_close(getattr(permuted, piece), getattr(components, piece)[order])


BAD_VIEWS = {
    "unequal shapes": ((4, 8), (4, 7), r"must have one shape, got \(4, 8\) and \(4, 7\)"),
    "unequal counts": ((4, 8), (5, 8), r"must have one shape, got \(4, 8\) and \(5, 8\)"),
    "vectors": ((8,), (8,), r"must be \(N, D\) matrices, got shapes \(8,\) and \(8,\)"),
    "a stack": ((2, 4, 8), (2, 4, 8), r"must be \(N, D\) matrices"),
    "one sentence": ((1, 8), (1, 8), r"needs at least 2 sentences .* got \(1, 8\)"),
    "no sentence": ((0, 8), (0, 8), r"needs at least 2 sentences"),
    "no dimension": ((4, 0), (4, 0), r"at least 1 dimension"),
}


@pytest.mark.parametrize("case", BAD_VIEWS)
@pytest.mark.parametrize("name", OBJECTIVES)
def test_views_of_a_wrong_shape_are_refused(name: str, case: str) -> None:
    first, second, message = BAD_VIEWS[case]
    objective = OBJECTIVES[name]()
    for use in (objective, objective.components, objective.anchor_gradient):
        with pytest.raises(ValueError, match=message):
            use(torch.ones(first), torch.ones(second))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_embeddings_that_are_not_finite_are_counted_and_refused(name: str, bad: float) -> None:
    anchor, positive = make_views(count=4)
    positive[1, 2] = bad
    positive[3, 0] = bad
    with pytest.raises(CollapseError, match="2 of 4 positive embeddings hold NaN or"):
        OBJECTIVES[name]()(anchor, positive)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_whole_numbers_are_no_embeddings(name: str) -> None:
    with pytest.raises(ValueError, match=r"must be floating point, got torch\.int64"):
        OBJECTIVES[name]()(torch.ones(4, 8, dtype=torch.int64), torch.ones(4, 8))


PEAK = """
import torch
from pathlib import Path
from pipeline.objectives import OBJECTIVES
anchor, positive = (torch.randn(4096, 768, requires_grad=True) for _ in range(2))
for name, objective in OBJECTIVES.items():
    torch.autograd.backward(objective()(anchor, positive))
    # Not ru_maxrss, which begins with the size of the process that started this one.
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
    assert peak < 850, f"{name}: {peak:.0f} MB"
print(f"{peak:.0f}")
"""


@pytest.mark.verify
def test_no_objective_needs_more_than_850_mb_for_4096_sentences_of_768_dimensions() -> None:
    """Peak of the whole process, forward and backward, the largest over all objectives.

    The variable makes the allocator give large blocks back at once, whatever came before.
    """
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "1048576"}
    run = subprocess.run(
        [sys.executable, "-c", PEAK],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env=environment,
    )
    assert run.returncode == 0, run.stderr
    assert 0 < float(run.stdout) < 850
