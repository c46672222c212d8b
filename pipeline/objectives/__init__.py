"""Objectives: one literal table, originals, ablation steps and modified forms side by side."""

from typing import Any

from pipeline.objectives.barlow_twins import (
    BarlowTwins,
    BarlowTwinsBatchNorm,
    BarlowTwinsDissipation,
    BarlowTwinsDissipationWeight,
    BarlowTwinsModified,
)
from pipeline.objectives.contrastive import MET, MPT, ArcCon, InfoNCE
from pipeline.objectives.mhe import MHE, MHEDissipation, MHEDissipationWeight, MHEModified
from pipeline.objectives.mhs import MHS, MHSDissipation, MHSModified
from pipeline.objectives.objective import Components, Objective
from pipeline.objectives.paradigm import Baseline, Paradigm, from_pieces
from pipeline.objectives.vicreg import (
    VICReg,
    VICRegCentred,
    VICRegDissipation,
    VICRegDissipationWeight,
    VICRegModified,
)
from pipeline.objectives.views import NonFiniteEmbeddingsError

# Each is an Objective; their fields differ, so a call through the table cannot be typed.
OBJECTIVES: dict[str, type[Any]] = {
    "info_nce": InfoNCE,
    "arccon": ArcCon,
    "mpt": MPT,
    "met": MET,
    "mhe": MHE,
    "mhe_dissipation": MHEDissipation,
    "mhe_dissipation_weight": MHEDissipationWeight,
    "mhe_modified": MHEModified,
    "mhs": MHS,
    "mhs_dissipation": MHSDissipation,
    "mhs_modified": MHSModified,
    "barlow_twins": BarlowTwins,
    "barlow_twins_batch_norm": BarlowTwinsBatchNorm,
    "barlow_twins_dissipation": BarlowTwinsDissipation,
    "barlow_twins_dissipation_weight": BarlowTwinsDissipationWeight,
    "barlow_twins_modified": BarlowTwinsModified,
    "vicreg": VICReg,
    "vicreg_centred": VICRegCentred,
    "vicreg_dissipation": VICRegDissipation,
    "vicreg_dissipation_weight": VICRegDissipationWeight,
    "vicreg_modified": VICRegModified,
    "paradigm": Baseline,
}

__all__ = [
    "OBJECTIVES",
    "Components",
    "NonFiniteEmbeddingsError",
    "Objective",
    "Paradigm",
    "from_pieces",
]
