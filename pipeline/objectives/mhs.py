"""Alignment with minimum hyperspherical separation: original, ablation step and modified.

Negatives are of the anchor's own view, h_j; d_ij = |h_i - h_j|.

| | original | modified |
| --- | --- | --- |
| dissipation | 1 | gate: c_ii - max c_ik < m |
| weight | nu / (N d_ij) for the nearest j | 1 / d_ij for the nearest j |
| ratio | 2 d_ij / nu | r |

Source: Li, Zhang & Nie 2024, Table 3, its MHS row corrected to a mean over anchors; the
uniformity term is that of Liu et al. (2021).
"""

from dataclasses import dataclass

from torch import Tensor

from pipeline.objectives.alignment import alignment
from pipeline.objectives.dissipation import constant
from pipeline.objectives.hyperparameters import View, choice, coefficient, pull_ratio
from pipeline.objectives.objective import Components, Gated, Modified, Objective
from pipeline.objectives.views import Views, distance, hardest
from pipeline.objectives.weight import hardest_only


def candidates(views: Views, negatives: View) -> Tensor:
    """(N, N) similarities among which an anchor's nearest neighbour is looked for."""
    return views.own if negatives == "own_view" else views.cosine


def nearest_weight(similarity: Tensor) -> Tensor:
    """1 / d_ij for the nearest j, else 0."""
    return hardest_only(similarity) / distance(similarity)


@dataclass(frozen=True, kw_only=True)
class MHS(Objective):
    """A + nu (MHS(h) + MHS(p)), MHS(h) = -(1/N) sum_i min_{j != i} |h_i - h_j|.

    The components are those of the anchor's own term; an embedding that is another's nearest
    neighbour is pushed by that one's term too. Clamp: d_ij^2 >= MIN_SQUARED_DISTANCE.

    Attributes:
        uniformity_coefficient: nu > 0.
        mhs_negatives: own_view (the paper), or other_view for the authors' code, which looks
            for the nearest p_j.
    """

    uniformity_coefficient: float = coefficient(1.0)
    mhs_negatives: View = choice("own_view", "other_view")

    def loss(self, views: Views) -> Tensor:
        """Closed form: everything carries gradient, A counts once."""
        separation = self._separation(views) + self._separation(views.turned())
        return alignment(views) - self.uniformity_coefficient * separation

    def _separation(self, views: Views) -> Tensor:
        return distance(hardest(candidates(views, self.mhs_negatives))[0]).mean()

    def dissipation_of(self, views: Views) -> Tensor:
        """1."""
        return constant(views)

    def weight_of(self, views: Views) -> Tensor:
        """Nu / (N d_ij) for the nearest j."""
        similarity = candidates(views, self.mhs_negatives)
        return self.uniformity_coefficient / views.count * nearest_weight(similarity)

    def ratio_of(self, views: Views) -> Tensor:
        """2 d_ij / nu."""
        return 2 / self.uniformity_coefficient * distance(candidates(views, self.mhs_negatives))

    def negatives_of(self, views: Views) -> Tensor:
        """h_j, or p_j where the neighbour is looked for in the other view."""
        return views.anchor if self.mhs_negatives == "own_view" else views.positive


@dataclass(frozen=True, kw_only=True)
class MHSDissipation(Gated, MHS):
    """MHS with the gate: first step of the ablation (Table 5)."""


@dataclass(frozen=True, kw_only=True)
class MHSModified(Modified):
    """MHS with gate and fixed ratio; its weight needs no change but the normaliser.

    Attributes:
        ratio: r.
        mhs_negatives: see `MHS`.
    """

    ratio: float = pull_ratio(1.75)
    mhs_negatives: View = choice("own_view", "other_view")

    def weight_of(self, views: Views) -> Tensor:
        """1 / d_ij for the nearest j."""
        return nearest_weight(candidates(views, self.mhs_negatives))

    def negatives_of(self, views: Views) -> Tensor:
        """As MHS's."""
        return views.anchor if self.mhs_negatives == "own_view" else views.positive

    def factor(self, components: Components) -> float:
        """1 / N: the mean over anchors."""
        return 1 / components.dissipation.shape[0]
