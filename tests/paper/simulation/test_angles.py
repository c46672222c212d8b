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
PIECES = ("dissipation_of", "weight_of", "ratio_of")
READS_EMBEDDINGS = {
    ("barlow_twins", "ratio_of"),
    ("barlow_twins_batch_norm", "ratio_of"),
    ("barlow_twins_dissipation", "ratio_of"),
    ("barlow_twins_dissipation_weight", "ratio_of"),
    ("vicreg_centred", "weight_of"),
    ("vicreg_centred", "ratio_of"),
}
EVERY = [(name, piece) for name in OBJECTIVES for piece in PIECES]


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


@pytest.mark.parametrize(("name", "piece"), [one for one in EVERY if one not in READS_EMBEDDINGS])
def test_a_piece_is_that_of_embeddings_with_the_same_cosines(name: str, piece: str) -> None:
    real, objective = real_views(), OBJECTIVES[name]()
    ours = getattr(objective, piece)(PrescribedViews(real.cosine))
    torch.testing.assert_close(ours, getattr(objective, piece)(real), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(("name", "piece"), sorted(READS_EMBEDDINGS))
def test_a_piece_that_reads_embeddings_is_refused(name: str, piece: str) -> None:
    views = PrescribedViews(torch.eye(COUNT))
    with pytest.raises(InputError, match="a simulation from angles has no embeddings"):
        getattr(OBJECTIVES[name](), piece)(views)


@pytest.mark.parametrize("which", ["anchor", "positive"])
def test_there_are_no_embeddings_to_ask_for(which: str) -> None:
    with pytest.raises(InputError, match=rf"PrescribedViews\.{which}: "):
        getattr(PrescribedViews(torch.eye(3)), which)


@pytest.mark.parametrize("turned", [Views.turned, Views.detached])
def test_views_that_would_need_embeddings_are_refused_too(turned: object) -> None:
    assert callable(turned)
    with pytest.raises(InputError, match="no embeddings"):
        turned(PrescribedViews(torch.eye(3)))


def test_cosines_within_a_view_are_the_negatives() -> None:
    views = PrescribedViews(torch.tensor([[0.5, 0.1], [0.2, 0.6]]))
    expected = torch.tensor([[1.0, 0.1], [0.2, 1.0]])
    assert torch.equal(views.own, expected)
    assert torch.equal(views.other, expected)
    assert torch.equal(views.aligned, torch.tensor([0.5, 0.6]))
    assert repr(views) == "PrescribedViews(count=2)"


@pytest.mark.parametrize(
    ("wrong", "shape"),
    [
        (torch.ones(3), r"float32 of shape \(3,\)"),
        (torch.ones(3, 4), r"float32 of shape \(3, 4\)"),
        (torch.ones(3, 3, dtype=torch.int64), r"int64 of shape \(3, 3\)"),
    ],
)
def test_what_is_no_square_of_cosines_is_refused(wrong: Tensor, shape: str) -> None:
    with pytest.raises(ValueError, match=rf"needs an \(N, N\) matrix .* got torch\.{shape}"):
        PrescribedViews(wrong)
