"""Alignment with minimum hyperspherical separation: original, ablation step and modified.

Negatives are of the anchor's own view, h_j; d_ij = |h_i - h_j|.

| | original | modified |
| --- | --- | --- |
| dissipation | 1 | gate: c_ii - max c_ik < m |
| weight | nu / (N d_ij) for the nearest j | 1 / d_ij for the nearest j |
| ratio | 2 d_ij / nu | r |

The pieces are those of the anchor's own term; in the closed form an embedding that is another's
nearest neighbour is pushed by that one's term too. The convention `mhs_negatives`: own_view (the
paper), or other_view for the authors' code, which looks for the nearest p_j. Clamp: d_ij^2 >=
MIN_SQUARED_DISTANCE.
Source: Li, Zhang & Nie 2024, Table 3, its MHS row corrected to a mean over anchors; the
uniformity term is that of Liu et al. (2021).
"""

from torch import Tensor

from pipeline.objectives import pieces as piece
from pipeline.objectives.objective import Composed, PiecesOf, Recipe
from pipeline.objectives.views import Views, distance, hardest

OWN: piece.View = "own_view"


def candidates(v: Views, mhs_negatives: piece.View) -> Tensor:
    """(N, N) similarities among which an anchor's nearest neighbour is looked for."""
    return v.anchor_similarity if mhs_negatives == "own_view" else v.cosine


def neighbours(v: Views, *, mhs_negatives: piece.View = OWN) -> Tensor:
    """(N, D): h_j, or p_j where the neighbour is looked for in the other view."""
    return v.anchor if mhs_negatives == "own_view" else v.positive


def mhs_loss(
    _: PiecesOf, v: Views, *, uniformity_coefficient: float, mhs_negatives: piece.View
) -> Tensor:
    """A + nu (MHS(h) + MHS(p)), MHS(h) = -(1/N) sum_i min_{j != i} |h_i - h_j|; A counts once."""
    separation = sum(
        distance(hardest(candidates(turn, mhs_negatives))[0]).mean() for turn in (v, v.swapped())
    )
    return piece.alignment(v) - uniformity_coefficient * separation


def nearest_weight(v: Views, *, mhs_negatives: piece.View = OWN) -> Tensor:
    """1 / d_ij for the nearest j, else 0."""
    similarity = candidates(v, mhs_negatives)
    return piece.hardest_only(similarity) / distance(similarity)


def separation_weight(
    v: Views, *, uniformity_coefficient: piece.Coefficient = 1.0, mhs_negatives: piece.View = OWN
) -> Tensor:
    """Nu / (N d_ij) for the nearest j, else 0."""
    return uniformity_coefficient / v.count * nearest_weight(v, mhs_negatives=mhs_negatives)


GATE, ALIGNMENT = piece.margin_gate, piece.alignment_pull
MHS = (
    Recipe("mhs", Composed(piece.constant, separation_weight, ALIGNMENT, neighbours), mhs_loss),
    Recipe("mhs_dissipation", Composed(GATE, separation_weight, ALIGNMENT, neighbours)),
    Recipe(
        "mhs_modified",
        Composed(GATE, nearest_weight, piece.fixed_ratio(1.75), neighbours, mean=True),
    ),
)
