"""Gradient caching gives the gradient of one large batch, dropout and all, in double precision."""

import pytest
import torch
from torch import Tensor, nn

from pipeline.objectives import OBJECTIVES
from pipeline.training.gradient_cache import backward_in_parts, in_parts

SENTENCES, INPUTS, WIDTH = 10, 6, 4
TOLERANCE = 1e-12


def network() -> nn.Module:
    torch.manual_seed(3)
    layers = [nn.Linear(INPUTS, 8), nn.Dropout(0.3), nn.Tanh(), nn.Linear(8, WIDTH)]
    return nn.Sequential(*layers).double()


def length(embeddings: Tensor) -> None:
    """A loss: the squared length of all."""
    embeddings.square().sum().backward()  # type: ignore[no-untyped-call]


def rows() -> Tensor:
    """Both views of each sentence."""
    torch.manual_seed(4)
    return torch.randn(SENTENCES, INPUTS, dtype=torch.float64).repeat(2, 1)


def gradients(model: nn.Module) -> list[Tensor]:
    return [
        parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None
    ]


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("size", [3, 99])
def test_it_is_the_gradient_of_one_graph_over_the_same_parts(name: str, size: int) -> None:
    """The parts' dropout is that of passes one after the other from the same random state."""
    objective, model = OBJECTIVES[name](), network()
    parts = in_parts((rows(),), size)

    def backward(embeddings: Tensor) -> None:
        torch.autograd.backward(objective(*embeddings.chunk(2)))

    torch.manual_seed(5)
    backward(torch.cat([model(*part) for part in parts]))
    expected, drawn_next = gradients(model), torch.rand(3)
    model.zero_grad()
    torch.manual_seed(5)
    backward_in_parts(model, parts, backward)
    assert len(expected) == 4
    torch.testing.assert_close(gradients(model), expected, rtol=TOLERANCE, atol=TOLERANCE)
    torch.testing.assert_close(torch.rand(3), drawn_next, rtol=0, atol=0)


def test_another_dropout_in_the_second_pass_would_show() -> None:
    """That the comparison above can fail."""
    objective, model, batch = OBJECTIVES["info_nce"](), network(), rows()
    torch.manual_seed(5)
    torch.autograd.backward(objective(*model(batch).chunk(2)))
    one = gradients(model)
    model.zero_grad()
    torch.manual_seed(6)
    torch.autograd.backward(objective(*model(batch).chunk(2)))
    with pytest.raises(AssertionError):
        torch.testing.assert_close(gradients(model), one, rtol=TOLERANCE, atol=TOLERANCE)


def test_no_graph_spans_more_than_a_part() -> None:
    seen: list[tuple[int, bool]] = []
    model = network()

    def embed(part: Tensor) -> Tensor:
        seen.append((len(part), torch.is_grad_enabled()))
        return model(part)  # type: ignore[no-any-return]

    backward_in_parts(embed, in_parts((rows(),), 8), length)
    assert seen == [(8, False), (8, False), (4, False), (8, True), (8, True), (4, True)]


def test_a_loss_that_depends_on_nothing_leaves_zero() -> None:
    """No anchor was open, and an objective gave a constant."""
    model = network()
    backward_in_parts(model, in_parts((rows(),), 8), lambda _: None)
    assert all(not gradient.any() for gradient in gradients(model))
