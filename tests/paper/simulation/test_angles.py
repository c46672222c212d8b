"""Views that hold cosines only give every piece that reads no embeddings its value."""

import pytest
import torch
from torch import Tensor

from pipeline.machine.errors import InputError
from pipeline.objectives import OBJECTIVES
from pipeline.objectives.views import Views
from pipeline.paper.simulation.angles import PrescribedViews

TOLERANCE = 1e-12  # float64
COUNT = 6
READS_EMBEDDINGS = {
    "barlow_twins",
    "barlow_twins_batch_norm",
    "barlow_twins_dissipation",
    "vicreg_centred",
}


def real_views() -> Views:
    """Unit vectors whose three cosine matrices agree off the diagonal.

    Sentence i is x_i, shared by its views, and in a plane of its own a vector that turns by
    another angle from view to view: c_ij = x_i . x_j, c_ii = |x_i|^2 + (1 - |x_i|^2) cos(turn_i).
    """
    generator = torch.Generator().manual_seed(0)
    shared = torch.randn(COUNT, 4, dtype=torch.float64, generator=generator)
    shared = 0.9 * torch.nn.functional.normalize(shared, dim=1)
    rest = (1 - shared.square().sum(dim=1)).sqrt()
    turn = torch.linspace(0.2, 2.8, COUNT, dtype=torch.float64)

    def view(angle: Tensor) -> Tensor:
        planes = torch.cat([(rest * angle.cos()).diag(), (rest * angle.sin()).diag()], dim=1)
        return torch.cat([shared, planes], dim=1)

    return Views(view(torch.zeros_like(turn)), view(turn))


@pytest.mark.parametrize("name", sorted(OBJECTIVES.keys() - READS_EMBEDDINGS))
def test_pieces_are_those_of_embeddings_with_the_same_cosines(name: str) -> None:
    real, objective = real_views(), OBJECTIVES[name]()
    ours, theirs = objective.pieces(PrescribedViews(real.cosine)), objective.pieces(real)
    for piece in ("dissipation", "weight", "pull"):
        torch.testing.assert_close(
            getattr(ours, piece), getattr(theirs, piece), rtol=0, atol=TOLERANCE
        )


@pytest.mark.parametrize("name", sorted(READS_EMBEDDINGS))
def test_pieces_that_read_embeddings_are_refused(name: str) -> None:
    views = PrescribedViews(torch.eye(COUNT))
    with pytest.raises(InputError, match="a simulation from angles has no embeddings"):
        OBJECTIVES[name]().pieces(views)


def test_cosines_within_a_view_are_the_negatives() -> None:
    views = PrescribedViews(torch.tensor([[0.5, 0.1], [0.2, 0.6]]))
    expected = torch.tensor([[1.0, 0.1], [0.2, 1.0]])
    assert torch.equal(views.anchor_similarity, expected)
    assert torch.equal(views.positive_similarity, expected)
    assert torch.equal(views.aligned, torch.tensor([0.5, 0.6]))
    assert repr(views) == "PrescribedViews(count=2)"
