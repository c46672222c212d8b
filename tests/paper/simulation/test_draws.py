"""Views that hold cosines only give every piece that reads no embeddings its value."""

import pytest
import torch
from torch import Tensor

from pipeline.objectives import OBJECTIVES
from pipeline.objectives.views import Views
from pipeline.paper.simulation.draws import prescribed

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
    ours, theirs = objective.pieces(prescribed(real.cosine)), objective.pieces(real)
    for piece in ("dissipation", "weight", "pull"):
        torch.testing.assert_close(
            getattr(ours, piece), getattr(theirs, piece), rtol=0, atol=TOLERANCE
        )


@pytest.mark.parametrize("name", sorted(READS_EMBEDDINGS))
def test_pieces_that_read_embeddings_find_none(name: str) -> None:
    with pytest.raises(AttributeError, match=r"no attribute '(anchor|positive)'"):
        OBJECTIVES[name]().pieces(prescribed(torch.eye(COUNT)))
