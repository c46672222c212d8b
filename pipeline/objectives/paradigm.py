"""The baseline of section 3.2: margin gate, softmax over the other view's negatives, fixed ratio.

Source: Li, Zhang & Nie 2024, Eq. (10).
"""

from typing import Literal

from pipeline.objectives import pieces as piece
from pipeline.objectives.objective import Recipe
from pipeline.objectives.pieces import Pieces
from pipeline.objectives.views import Views


def paradigm(  # noqa: PLR0913 - hyperparameters
    v: Views,
    *,
    margin: piece.CosineMargin = 0.3,
    gate: piece.Gate = "cross_view",
    ratio: piece.Ratio = 1.0,
    temperature: piece.Temperature = 0.05,
    mean_over: Literal["all", "open"] = "all",
) -> Pieces:
    """The baseline's pieces.

    mean_over: `open` averages over open anchors only, as the authors' code does (0 when none is).
    """
    dissipation = piece.margin_gate(v, margin=margin, gate=gate)
    weight = piece.softmax_over_negatives(v.cosine, temperature)
    count = dissipation.sum().clamp_min(1.0) if mean_over == "open" else v.count
    return Pieces(dissipation, weight, (weight * ratio).sum(dim=1), 1 / count, piece.other_view)


PARADIGM = Recipe("paradigm", paradigm)
