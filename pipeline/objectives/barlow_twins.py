"""Barlow Twins: original, textbook, ablation steps and modified.

Negatives are of the anchor's own view, h_j; C = (1/N) sum_i h_i p_i^T, C_diag its diagonal part.

| | original | modified |
| --- | --- | --- |
| dissipation | 1 | gate: c_ii - max c_ik < m |
| weight | 2 nu p_i.p_j / N^2 | e^{p_i.p_j/t} / sum_{k != l} e^{p_k.p_l/t} |
| ratio | N p_i^T (I - (1 - nu) C_diag) p_i / (nu sum_{k != i} p_i.p_k) | r |

The original's ratio is a matrix; the row is its part along the positive. The loss pulls with the
whole matrix. At the step "+ weight" nu is 1, so the pull is 2/N along the positive. `barlow_twins`
is the gradient on l2-normalized embeddings, which the paper's authors train;
`barlow_twins_batch_norm` the textbook's closed form, whose pieces hold at the batch-normalized
embeddings. Source: Zbontar et al. 2021, Eq. (1); Li, Zhang & Nie 2024, Table 3.
"""

from torch import Tensor
from torch.nn import functional

from pipeline.objectives import pieces as piece
from pipeline.objectives.objective import Composed, PiecesOf, Recipe, gradient_equivalent
from pipeline.objectives.views import Views, without_diagonal


def batch_normalize(embeddings: Tensor) -> Tensor:
    """Zero mean and unit variance per feature over the batch; a constant feature becomes zero."""
    return functional.batch_norm(embeddings, None, None, training=True)


def redundancy_loss(_: PiecesOf | None, v: Views, *, redundancy_coefficient: float) -> Tensor:
    """sum_k (C_kk - 1)^2 + nu sum_{k != l} C_kl^2: everything carries gradient."""
    correlation = v.anchor.T @ v.positive / v.count
    on_diagonal = correlation.diagonal()
    off_diagonal = without_diagonal(correlation, 0.0)
    return (on_diagonal - 1).square().sum() + redundancy_coefficient * off_diagonal.square().sum()


def redundancy_weight(v: Views, *, redundancy_coefficient: piece.Coefficient = 30.0) -> Tensor:
    """2 nu p_i.p_j / N^2, which may be negative."""
    return without_diagonal(v.positive_similarity, 0.0) * (2 * redundancy_coefficient / v.count**2)


def decorrelating_pull(
    v: Views, weight: Tensor, *, redundancy_coefficient: piece.Coefficient = 30.0
) -> tuple[Tensor, Tensor]:
    """2/N, toward (I - (1 - nu) C_diag) p_i."""
    diagonal = (v.anchor * v.positive).mean(dim=0)
    return piece.alignment_pull(v, weight), 1 - (1 - redundancy_coefficient) * diagonal


def softmax_weight(v: Views, *, temperature: piece.Temperature = 0.05) -> Tensor:
    """e^{p_i.p_j/t} / sum_{k != l} e^{p_k.p_l/t}."""
    return piece.softmax_over_pairs(v.positive_similarity, temperature)


GATE, ORIGINAL = piece.margin_gate, Composed(piece.constant, redundancy_weight, decorrelating_pull)
BARLOW_TWINS = (
    Recipe("barlow_twins", ORIGINAL, gradient_equivalent),
    Recipe("barlow_twins_batch_norm", ORIGINAL, redundancy_loss, batch_normalize),
    Recipe("barlow_twins_dissipation", Composed(GATE, redundancy_weight, decorrelating_pull)),
    Recipe("barlow_twins_dissipation_weight", Composed(GATE, softmax_weight, piece.alignment_pull)),
    Recipe("barlow_twins_modified", Composed(GATE, softmax_weight, piece.fixed_ratio(1.5))),
)
