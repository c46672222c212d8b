"""What objectives are called, and which belong together. Nothing is measured here."""

# The backbone in place of an objective: as it is trained, and with the mean of all tokens.
UNTRAINED, UNTRAINED_MEAN = BACKBONES = ("untrained", "untrained_mean")
CONTRASTIVE = ("info_nce", "arccon", "mpt", "met")
MODIFIED = {  # what the paper made of each original
    "mhe": "mhe_modified",
    "mhs": "mhs_modified",
    "barlow_twins": "barlow_twins_modified",
    "vicreg": "vicreg_modified",
}
REPAIRED = "_repaired"  # what the name of another's loss gets once it is repaired
# The ablation: what an original's name gets after each step, and what the step adds.
STEPS = {
    "": "original",
    "_dissipation": "+ dissipation",
    "_dissipation_weight": "+ weight",
    "_modified": "+ ratio",
}
