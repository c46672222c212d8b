"""Barlow Twins: original, textbook, ablation steps and modified.

Negatives are of the anchor's own view, h_j; C = (1/N) sum_i h_i p_i^T, C_diag its diagonal part.

| | original | modified |
| --- | --- | --- |
| dissipation | 1 | gate: c_ii - max c_ik < m |
| weight | 2 nu p_i.p_j / N^2 | e^{p_i.p_j/t} / sum_{k != l} e^{p_k.p_l/t} |
| ratio | N p_i^T (I - (1 - nu) C_diag) p_i / (nu sum_{k != i} p_i.p_k) | r |

The original's ratio is a matrix; the row is its part along the positive. The loss pulls with the
whole matrix. Source: Zbontar et al. 2021, Eq. (1); Li, Zhang & Nie 2024, Table 3.
"""

from dataclasses import dataclass

from torch import Tensor

from pipeline.objectives.dissipation import constant
from pipeline.objectives.hyperparameters import coefficient, pull_ratio, temperature
from pipeline.objectives.objective import (
    Components,
    Gated,
    Modified,
    Objective,
    PiecewiseObjective,
)
from pipeline.objectives.ratio import off_zero, per_anchor
from pipeline.objectives.views import MIN_NORM, Views, without_diagonal
from pipeline.objectives.weight import softmax_over_pairs

# Added to a feature's variance, as torch.nn.BatchNorm1d does.
BATCH_NORM_EPSILON = 1e-5


def redundancy(views: Views, coefficient: float) -> Tensor:
    """sum_k (C_kk - 1)^2 + nu sum_{k != l} C_kl^2, C = (1/N) sum_i h_i p_i^T."""
    correlation = views.anchor.T @ views.positive / views.count
    on_diagonal = correlation.diagonal()
    off_diagonal = without_diagonal(correlation, 0.0)
    return (on_diagonal - 1).square().sum() + coefficient * off_diagonal.square().sum()


def redundancy_weight(views: Views, coefficient: float) -> Tensor:
    """2 nu p_i.p_j / N^2."""
    return without_diagonal(views.other, 0.0) * (2 * coefficient / views.count**2)


def decorrelating_pull(views: Views, coefficient: float, positive: Tensor) -> Tensor:
    """(2/N) (I - (1 - nu) C_diag) p_i, (N, D)."""
    diagonal = (views.anchor * views.positive).mean(dim=0)
    return 2 / views.count * (1 - (1 - coefficient) * diagonal) * positive


def push_sum(views: Views, coefficient: float) -> Tensor:
    """sum_{j != i} 2 nu p_i.p_j / N^2 kept off zero, (N,): what the original ratio divides by."""
    similarity = without_diagonal(views.other, 0.0).sum(dim=1)
    return 2 * coefficient / views.count**2 * off_zero(similarity)


def decorrelating_ratio(views: Views, coefficient: float) -> Tensor:
    """N p_i^T (I - (1 - nu) C_diag) p_i / (nu sum_{k != i} p_i.p_k), for |p_i| = 1."""
    pull = decorrelating_pull(views, coefficient, views.positive)
    squared_norm = views.positive.square().sum(dim=1).clamp_min(MIN_NORM)
    along = (pull * views.positive).sum(dim=1) / squared_norm
    return per_anchor(along / push_sum(views, coefficient))


@dataclass(frozen=True, kw_only=True)
class BarlowTwins(PiecewiseObjective):
    """The gradient of sum_k (C_kk - 1)^2 + nu sum_{k != l} C_kl^2 on l2-normalised embeddings.

    This is the form that the paper's authors train. `BarlowTwinsBatchNorm` is the textbook one.

    Attributes:
        redundancy_coefficient: nu > 0.
    """

    redundancy_coefficient: float = coefficient(30.0)

    def dissipation_of(self, views: Views) -> Tensor:
        """1."""
        return constant(views)

    def weight_of(self, views: Views) -> Tensor:
        """2 nu p_i.p_j / N^2, which may be negative."""
        return redundancy_weight(views, self.redundancy_coefficient)

    def ratio_of(self, views: Views) -> Tensor:
        """The matrix's part along the positive; clamp: see ratio.MIN_SIMILARITY_SUM."""
        return decorrelating_ratio(views, self.redundancy_coefficient)

    def pull(self, components: Components, views: Views, positive: Tensor) -> Tensor:  # noqa: ARG002
        """The whole matrix, without the detour over a sum that may vanish."""
        return decorrelating_pull(views, self.redundancy_coefficient, positive)


def batch_normalise(embeddings: Tensor) -> Tensor:
    """Zero mean and unit variance per feature over the batch; a constant feature becomes zero."""
    centred = embeddings - embeddings.mean(dim=0)
    return centred * (centred.square().mean(dim=0) + BATCH_NORM_EPSILON).rsqrt()


@dataclass(frozen=True, kw_only=True)
class BarlowTwinsBatchNorm(Objective):
    """The textbook form: the closed loss on batch-normalised embeddings.

    Its components hold at the batch-normalised embeddings.
    Source: Zbontar et al. 2021, Eq. (1).

    Attributes:
        redundancy_coefficient: nu > 0.
    """

    redundancy_coefficient: float = coefficient(30.0)

    def normalise(self, embeddings: Tensor) -> Tensor:
        """Batch normalisation without learnt scale and shift."""
        return batch_normalise(embeddings)

    def loss(self, views: Views) -> Tensor:
        """Closed form: everything carries gradient."""
        return redundancy(views, self.redundancy_coefficient)

    def dissipation_of(self, views: Views) -> Tensor:
        """1."""
        return constant(views)

    def weight_of(self, views: Views) -> Tensor:
        """As BarlowTwins's, on batch-normalised embeddings."""
        return redundancy_weight(views, self.redundancy_coefficient)

    def ratio_of(self, views: Views) -> Tensor:
        """As BarlowTwins's, on batch-normalised embeddings."""
        return decorrelating_ratio(views, self.redundancy_coefficient)


@dataclass(frozen=True, kw_only=True)
class BarlowTwinsDissipation(Gated, BarlowTwins):
    """Barlow Twins with the gate: first step of the ablation (Table 5)."""


@dataclass(frozen=True, kw_only=True)
class BarlowTwinsDissipationWeight(BarlowTwinsDissipation):
    """Barlow Twins with the gate and the modified weight: second step of the ablation (Table 5).

    Attributes:
        temperature: t > 0, divides the cosine.
    """

    temperature: float = temperature()

    def weight_of(self, views: Views) -> Tensor:
        """As BarlowTwinsModified's; the ratio stays BarlowTwins's."""
        return softmax_over_pairs(views.other, self.temperature)

    def pull(self, components: Components, views: Views, positive: Tensor) -> Tensor:
        """The original's ratio, a matrix, times the modified weights' sum."""
        push = components.weight.sum(dim=1) / push_sum(views, self.redundancy_coefficient)
        return push[:, None] * decorrelating_pull(views, self.redundancy_coefficient, positive)


@dataclass(frozen=True, kw_only=True)
class BarlowTwinsModified(Modified):
    """Barlow Twins with gate, softmax weight and fixed ratio.

    Attributes:
        temperature: t > 0, divides the cosine.
        ratio: r.
    """

    temperature: float = temperature()
    ratio: float = pull_ratio(1.5)

    def weight_of(self, views: Views) -> Tensor:
        """e^{p_i.p_j/t} / sum_{k != l} e^{p_k.p_l/t}."""
        return softmax_over_pairs(views.other, self.temperature)
