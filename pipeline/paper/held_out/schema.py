"""What is measured of one encoder: the file that `pipeline.measure` writes and the report reads."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

Sign = Literal["positive", "negative"]


class Part(BaseModel):
    """All numbers are finite; where one can be undefined, it is None."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Grid(Part):
    """Equally spaced points, both ends included."""

    start: int
    stop: int
    points: int

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """The points, rising."""
        return np.linspace(self.start, self.stop, self.points)


class Data(Part):
    """The sentences that were measured, and how many were held out."""

    source: str
    hash: str
    held_out: int
    batches: int
    batch_size: int
    sentences: int


class Settings(Part):
    """How it is measured.

    Attributes:
        seed: of the batches, the dropout masks and the subsample behind the densities.
        margin: of the gate that decides which anchors are open, in cosine.
        gate: which gate that is.
        temperatures: of the softmax weights.
        steps: lambda of Lemma 1, step lengths.
        precision: of the encoder.
    """

    seed: int
    margin: float
    gate: str = "cross_view"
    temperatures: tuple[float, ...]
    steps: tuple[float, ...]
    precision: str = "fp32"


class Mean(Part):
    """Over all pairs, and the deviation of the batches' means."""

    mean: float
    deviation_over_batches: float | None


class Cosines(Part):
    """Cosines of pairs; densities from as many of them as `density_pairs` says."""

    positive: Mean
    negative: Mean
    gap: Mean
    grid: Grid
    density: dict[Sign, list[float]]
    density_pairs: dict[Sign, int]


class Shares(Part):
    """The hardest negative's mean share: of the weight, of the pushes, of the whole gradient."""

    weight_share: float | None
    push_share: float | None
    gradient_share: float | None


class AtTemperature(Part):
    """Shares over the open anchors and over all."""

    temperature: float
    open: Shares
    all: Shares


class HardestShare(Part):
    """Shares of the hardest negative; `uniform` is one of all negatives."""

    uniform: float
    anchors: int
    open: int
    open_share: float
    by_temperature: list[AtTemperature]


class AtStep(Part):
    """The smallest ratio that serves, at one step length.

    Attributes:
        step: lambda.
        share_above_one: of open anchors: r must be above 1.
        share_one_serves: of open anchors: r = 1 lies between both bounds.
        share_undefined: of open anchors: no r serves.
        quantiles: by percent, of the anchors for which some r serves.
        density: likewise.
    """

    step: float
    share_above_one: float | None
    share_one_serves: float | None
    share_undefined: float | None
    quantiles: dict[str, float] | None
    density: list[float] | None


class MinimumRatio(Part):
    """Lemma 1 at the open anchors."""

    anchors: int
    grid: Grid
    by_step: list[AtStep]


class Angle(Part):
    """Over all pairs, in radians."""

    mean: float
    deviation: float


class Measurement(Part):
    """One encoder on held-out sentences; `encoder` says which, `hardware` on what."""

    encoder: dict[str, Any]
    data: Data
    settings: Settings
    hardware: str
    cosines: Cosines
    hardest_share: HardestShare
    minimum_ratio: MinimumRatio
    angles: dict[Sign, Angle]
