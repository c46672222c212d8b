"""Objectives: one table, originals, ablation steps and modified forms side by side.

objective = OBJECTIVES["vicreg_modified"](margin=0.3, temperature=0.05, ratio=1.5)
loss = objective(anchor, positive)                 # (N, D) each, any length
components = objective.components(anchor, positive)   # dissipation, weight, pull, ratio
"""

from pipeline.objectives.barlow_twins import BARLOW_TWINS
from pipeline.objectives.contrastive import CONTRASTIVE
from pipeline.objectives.mhe import MHE
from pipeline.objectives.mhs import MHS
from pipeline.objectives.objective import Components, Composed, Objective, Recipe
from pipeline.objectives.paradigm import PARADIGM
from pipeline.objectives.pieces import Pieces
from pipeline.objectives.vicreg import VICREG
from pipeline.objectives.views import Views

OBJECTIVES: dict[str, Recipe] = {
    entry.name: entry for entry in (*CONTRASTIVE, *MHE, *MHS, *BARLOW_TWINS, *VICREG, PARADIGM)
}

__all__ = ["OBJECTIVES", "Components", "Composed", "Objective", "Pieces", "Recipe", "Views"]
