"""The schema of params.yaml: what each section holds, in which ranges, and what follows for a run.

Not here: reading and checking the file (config.py), any default.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pipeline.encoder.folder import Pooling
from pipeline.machine.bounds import number
from pipeline.objectives import OBJECTIVES, Objective
from pipeline.senteval.classifier import ClassifierName, SettingName

# numpy's generators take 32 bits.
LARGEST_SEED = 2**32 - 1

HeadKind = Literal["mlp", "linear", "tanh_linear"]
Compile = Literal["auto", "on", "off"]


@dataclass(frozen=True, kw_only=True)
class CorpusParams:
    """Where sentences come from: see pipeline.data.sentences."""

    source: str
    watch: str
    revision: str | None
    column: str
    held_out: float = number(at_least=0.0, at_most=0.9, unit="share")
    seed: int = number(at_least=0, unit="seed")


@dataclass(frozen=True, kw_only=True)
class BackboneParams:
    """The pretrained transformer: a folder or a model id on the hub."""

    source: str
    watch: str
    pooling: Pooling


@dataclass(frozen=True, kw_only=True)
class TrainParams:
    """The loop's settings; `objectives.<name>.train` may replace some of them."""

    max_length: int = number(at_least=3, unit="tokens")
    batch_size: int = number(at_least=2, unit="sentences")
    epochs: int = number(at_least=1, unit="epochs")
    steps: int | None = number(at_least=1, unit="steps, instead of epochs")
    learning_rate: float = number(above=0.0, unit="per step")
    weight_decay: float = number(at_least=0.0, unit="per step")
    gradient_clip: float = number(above=0.0, unit="l2 norm")
    evaluate_every: int = number(at_least=1, unit="steps")
    record_every: int = number(at_least=1, unit="steps")
    head: HeadKind
    head_std: float | None = number(above=0.0, unit="standard deviation")
    freeze_embeddings: bool
    precision: Literal["auto", "bf16", "fp32"]
    compile: Compile
    chunk_size: int | None = number(at_least=1, unit="sentences a pass")
    device: str
    launcher: str


@dataclass(frozen=True, kw_only=True)
class EvaluateParams:
    """Where SentEval's folders are, which tasks to run, and how the transfer tasks are scored."""

    data: str
    dev: str
    tasks: str
    setting: SettingName
    classifier: ClassifierName
    batch_size: int = number(at_least=1, unit="sentences")


@dataclass(frozen=True, kw_only=True)
class CompareParams:
    """The paired bootstrap."""

    resamples: int = number(at_least=100, unit="resamples")
    seed: int = number(at_least=0, unit="seed")


@dataclass(frozen=True, kw_only=True)
class RunsParams:
    """The matrix of runs."""

    objectives: tuple[str, ...]
    seeds: tuple[int, ...] = number(at_least=0, at_most=LARGEST_SEED, unit="seed")


@dataclass(frozen=True, kw_only=True)
class ConventionsParams:
    """Where the paper and its authors' code differ; each objective takes those it has."""

    gate: Literal["cross_view", "within_view"]
    positive_gradient: Literal["anchor_only", "both"]
    mean_over: Literal["all", "open"]
    mhs_negatives: Literal["own_view", "other_view"]
    mhe_exponent: Literal[2, 1]
    mhe_weight_pull: Literal["alignment", "balanced"]


@dataclass(frozen=True, kw_only=True)
class SimulationParams:
    """The simulation of section 3.1: angles drawn from two normal distributions."""

    objectives: tuple[str, ...]
    grid: int = number(at_least=2, unit="points a side")
    batches: int = number(at_least=1, unit="batches a point")
    negatives: int = number(at_least=1, unit="negatives a batch")
    positive_deviation: float = number(above=0.0, unit="radians")
    negative_deviation: float = number(above=0.0, unit="radians")
    positive_mean: float = number(above=0.0, unit="radians")
    temperatures: tuple[float, ...] = number(above=0.0, unit="cosine")
    steps: tuple[float, ...] = number(above=0.0, unit="length of a step")
    seed: int = number(at_least=0, unit="seed")


@dataclass(frozen=True, kw_only=True)
class MeasureParams:
    """What is measured on held-out sentences: options of pipeline.measure."""

    batches: int = number(at_least=1, unit="batches")
    margin: float = number(at_least=0.0, at_most=2.0, unit="cosine")
    temperatures: tuple[float, ...] = number(above=0.0, unit="cosine")
    steps: tuple[float, ...] = number(above=0.0, unit="length of a step")
    seed: int = number(at_least=0, at_most=LARGEST_SEED, unit="seed")


@dataclass(frozen=True, kw_only=True)
class AnalysisParams:
    """The study of section 3.2: short runs on a part of the sentences, measured on the rest."""

    simulation: SimulationParams
    held_out: float = number(above=0.0, at_most=0.9, unit="share")
    objectives: tuple[str, ...]
    seeds: tuple[int, ...] = number(at_least=0, at_most=LARGEST_SEED, unit="seed")
    steps: int = number(at_least=1, unit="steps")
    evaluate_every: int = number(at_least=1, unit="steps")
    record_every: int = number(at_least=1, unit="steps")
    tasks: str
    batch_size: int = number(at_least=2, unit="sentences")
    measure: MeasureParams


@dataclass(frozen=True, kw_only=True)
class Params:
    """All of params.yaml; an objective's settings may name another one that it is a variant of."""

    corpus: CorpusParams
    backbone: BackboneParams
    train: TrainParams
    evaluate: EvaluateParams
    compare: CompareParams
    runs: RunsParams
    conventions: ConventionsParams
    analysis: AnalysisParams
    objectives: Mapping[str, Mapping[str, Any]]

    def kind(self, name: str) -> str:
        """The registered objective that the named one is, or is a variant of."""
        return str(self.objectives[name].get("variant_of", name))

    def objective(self, name: str) -> Objective:
        """The named objective with its hyperparameters and the conventions that concern it."""
        recipe = OBJECTIVES[self.kind(name)]
        given = dataclasses.asdict(self.conventions) | dict(self.objectives[name])
        return recipe(**{key: given[key] for key in recipe.hyperparameters.model_fields if key in given})

    def train_for(self, name: str) -> TrainParams:
        """The loop's settings with the named objective's own replacements."""
        return dataclasses.replace(self.train, **self.objectives[name].get("train", {}))
