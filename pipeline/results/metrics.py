"""The schema of metrics files: `evaluate` writes them, whoever reads them reads them through it."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field

from pipeline.results.layout import DIGITS
from pipeline.senteval.benchmark import Half, Result
from pipeline.senteval.known import Label
from pipeline.senteval.sts import TaskScore
from pipeline.senteval.tasks import HALVES

if TYPE_CHECKING:
    from pipeline.encoder.record import Origin

HalfName = Literal["sts", "transfer"]

QUANTILES = 101
PUBLISHED = ("test", "mlp")  # setting and classifier that papers report

Rounded = Annotated[float, AfterValidator(lambda value: round(value, DIGITS))]


class _Part(BaseModel):
    """Scores of `pipeline.senteval` become a part by their attributes."""

    model_config = ConfigDict(frozen=True, from_attributes=True, allow_inf_nan=False)


class SubsetMetrics(_Part):
    """Spearman x 100 within one subset of an STS task."""

    spearman: Rounded
    pairs: int


class StsMetrics(_Part):
    """One STS task's correlations x 100; the means are over its subsets."""

    spearman: Rounded
    pearson: Rounded
    mean: Rounded
    weighted_mean: Rounded
    pairs: int
    label: Label
    subsets: dict[str, SubsetMetrics]

    @property
    def score(self) -> float:
        """What is reported."""
        return self.spearman


class TransferMetrics(_Part):
    """One transfer task's scores in percent, and what they depend on."""

    accuracy: float
    dev_accuracy: float
    f1: float | None = None
    strengths: tuple[float, ...] = Field(
        validation_alias=AliasChoices("strengths", "weight_decays"),
        description="weight decays, by the name that committed files have",
    )
    counts: dict[str, int]  # rows of each part
    label: Label

    @property
    def score(self) -> float:
        """What is reported."""
        return self.accuracy


class Metrics(_Part):
    """One encoder's metrics; what did not run, or is not known of the encoder, is None."""

    encoder: str
    version: str
    objective: str | None
    seed: int | None
    dev_spearman: float | None = None
    data: str
    precision: str | None = None  # of matrix products, where it is not fp32
    tasks: tuple[str, ...]
    missing: tuple[str, ...]
    sts: dict[str, StsMetrics] | None = None
    average: Rounded | None = None
    average_label: str | None = None
    cosine_quantiles: tuple[Rounded, ...] | None = None
    setting: str | None = None
    classifier: str | None = None
    transfer: dict[str, TransferMetrics] | None = None
    transfer_average: Rounded | None = None
    transfer_average_label: str | None = None

    def content(self) -> dict[str, Any]:
        """The file's: nested plain numbers, so that `dvc metrics diff` can compare them.

        What is None is left out, but for who was measured.
        """
        who = dict.fromkeys(("encoder", "version", "objective", "seed"))
        return who | self.model_dump(exclude_none=True)

    def half(self, name: HalfName) -> Mapping[str, StsMetrics | TransferMetrics]:
        """The tasks of one half that ran, in the order in which they are reported."""
        return (self.sts if name == "sts" else self.transfer) or {}

    def reservations(self, name: HalfName) -> list[str]:
        """Why a half's scores must not be put beside published ones; perhaps nothing."""
        reasons = []
        others = [task for task, score in self.half(name).items() if score.label != "benchmark"]
        if others:
            reasons.append(f"the files of {', '.join(others)} are not the benchmark's")
        if name == "transfer" and (self.setting, self.classifier) != PUBLISHED:
            reasons.append("papers report setting `test` with classifier `mlp`")
        return reasons


def metrics(encoder: str, version: str, origin: "Origin", result: Result, data: Path) -> Metrics:
    """The metrics of an encoder of this id and version, with this result on this data.

    Times are left out: they differ between equal runs.
    """
    figures: dict[str, Any] = {}
    if sts := result.sts.scores:
        cosines = np.concatenate([score.cosine for score in sts])
        figures |= {
            "sts": {score.task: score for score in sts},
            "average": result.sts.average,
            "average_label": average_label([score.task for score in sts]),
            "cosine_quantiles": np.quantile(cosines, np.linspace(0, 1, QUANTILES)).tolist(),
        }
    if transfer := result.transfer.scores:
        figures |= {
            "setting": result.setting,
            "classifier": "mlp",
            "transfer": {score.task: score for score in transfer},
            "transfer_average": result.transfer.average,
            "transfer_average_label": average_label([score.task for score in transfer]),
        }
    return Metrics(
        encoder=encoder,
        version=version,
        objective=origin.objective,
        seed=origin.seed,
        dev_spearman=origin.dev_spearman,
        data=data_name(data),
        tasks=tuple(score.task for score in result.scores),
        missing=result.missing,
        **figures,
    )


def average_label(tasks: list[str]) -> str:
    """Only the average of all seven tasks of a half may be called that."""
    if any(set(tasks) == set(half) for half in HALVES.values()):
        return "avg of seven"
    return f"avg of {len(tasks)}: {', '.join(tasks)}"


def data_name(data: Path) -> str:
    """The folder's or table's name; `downstream` alone says nothing: its parent's stands for it."""
    folder = data.resolve()
    if folder.is_file():
        return folder.stem
    return folder.parent.name if folder.name == "downstream" else folder.name


def scores_archive(sts: Half[TaskScore], clusters: Mapping[str, np.ndarray]) -> bytes:
    """`<task>/cosine`, `gold` and `cluster` of every pair, for the bootstrap in `compare`."""
    arrays = {}
    for score in sts.scores:
        arrays[f"{score.task}/cosine"] = score.cosine
        arrays[f"{score.task}/gold"] = score.gold
        arrays[f"{score.task}/cluster"] = clusters[score.task].astype(np.int32)
    archive = io.BytesIO()
    np.savez_compressed(archive, allow_pickle=False, **arrays)
    return archive.getvalue()
