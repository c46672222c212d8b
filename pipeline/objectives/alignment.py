"""Alignment: the attracting term of MHE, MHS and VICReg."""

from torch import Tensor

from pipeline.objectives.views import Views


def alignment(views: Views) -> Tensor:
    """A = (1/N) sum_i |h_i - p_i|^2."""
    return (views.anchor - views.positive).square().sum(dim=1).mean()
