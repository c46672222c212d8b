"""The schema of params.yaml: what each section holds, in which ranges, and what follows for a run.

Not here: reading and checking the file (load.py), any default.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from pipeline.encoder.folder import Pooling
from pipeline.machine.settings import Listed, Settings, unknown
from pipeline.objectives import OBJECTIVES, Objective
from pipeline.objectives.foreign import foreign
from pipeline.senteval.classifier import SettingName
from pipeline.senteval.tasks import FOLDERS, HALVES

HeadKind = Literal["mlp", "linear", "tanh_linear"]
Keep = Literal["last", "best"]
Track = Literal["none", "dvclive", "mlflow", "tensorboard"]
Compile = Literal["auto", "on", "off"]

# numpy's generators take 32 bits.
Seed = Annotated[int, Field(ge=0, le=2**32 - 1, description="seed")]
Temperature = Annotated[float, Field(gt=0, description="cosine")]
StepLength = Annotated[float, Field(gt=0, description="length of a step")]


def _known_tasks(tasks: str) -> str:
    choices = [*HALVES, *FOLDERS]
    names = [name.strip() for name in tasks.split(",")]
    if strangers := [unknown("task", name, choices) for name in names if name not in choices]:
        raise ValueError(*strangers)
    return tasks


TaskNames = Annotated[str, AfterValidator(_known_tasks)]


class CorpusParams(Settings):
    """Where sentences come from: see pipeline.data.sentences."""

    source: str
    watch: str
    revision: str | None
    column: str
    held_out: float = Field(ge=0, le=0.9, description="share")
    seed: Seed


class BackboneParams(Settings):
    """The pretrained transformer: a folder or a model id on the hub."""

    source: str
    watch: str
    revision: str | None
    pooling: Pooling


class TrainParams(Settings):
    """The loop's settings; `objectives.<name>.train` may replace some of them."""

    max_length: int = Field(ge=3, description="tokens")
    batch_size: int = Field(ge=2, description="sentences")
    epochs: int = Field(ge=1, description="epochs")
    steps: int | None = Field(ge=1, description="steps, instead of epochs")
    learning_rate: float = Field(gt=0, description="per step")
    weight_decay: float = Field(ge=0, description="per step")
    gradient_clip: float = Field(gt=0, description="l2 norm")
    dev: str
    keep: Keep
    evaluate_every: int = Field(ge=1, description="steps")
    record_every: int = Field(ge=1, description="steps")
    head: HeadKind
    head_std: float | None = Field(gt=0, description="standard deviation")
    freeze_embeddings: bool
    precision: Literal["auto", "bf16", "tf32", "fp32"]
    compile: Compile
    packed: bool
    capture: bool
    chunk_size: int | None = Field(ge=1, description="sentences a pass")
    device: str
    launcher: str
    track: Track


class EvaluateParams(Settings):
    """What encoders are measured on, and how transfer tasks are scored.

    `data` is the folder that holds STS/ and its like, or a table of graded pairs.
    """

    data: str
    tasks: TaskNames
    setting: SettingName
    batch_size: int = Field(ge=1, description="sentences")


class CompareParams(Settings):
    """The paired bootstrap, and the objective that others are compared with, where it is there."""

    baseline: str
    resamples: int = Field(ge=100, description="resamples")
    seed: Seed


class RunsParams(Settings):
    """The matrix of runs."""

    objectives: Listed[str]
    seeds: Listed[Seed]


class ConventionsParams(Settings):
    """Where the paper and its authors' code differ; each objective takes those it has."""

    gate: Literal["cross_view", "within_view"]
    positive_gradient: Literal["anchor_only", "both"]
    mean_over: Literal["all", "open"]
    mhs_negatives: Literal["own_view", "other_view"]
    mhe_exponent: Literal[2, 1]
    mhe_weight_pull: Literal["alignment", "balanced"]


class SimulationParams(Settings):
    """The simulation of section 3.1: angles drawn from two normal distributions."""

    objectives: Listed[str]
    grid: int = Field(ge=2, description="points a side")
    batches: int = Field(ge=1, description="batches a point")
    negatives: int = Field(ge=1, description="negatives a batch")
    positive_deviation: float = Field(gt=0, description="radians")
    negative_deviation: float = Field(gt=0, description="radians")
    positive_mean: float = Field(gt=0, description="radians")
    temperatures: Listed[Temperature]
    steps: Listed[StepLength]
    seed: Seed


class MeasureParams(Settings):
    """What is measured on held-out sentences: options of pipeline.measure."""

    batches: int = Field(ge=1, description="batches")
    margin: float = Field(ge=0, le=2, description="cosine")
    temperatures: Listed[Temperature]
    steps: Listed[StepLength]
    seed: Seed


class AnalysisParams(Settings):
    """The study of section 3.2: short runs on a part of the sentences, measured on the rest."""

    simulation: SimulationParams
    held_out: float = Field(gt=0, le=0.9, description="share")
    objectives: Listed[str]
    seeds: Listed[Seed]
    steps: int = Field(ge=1, description="steps")
    evaluate_every: int = Field(ge=1, description="steps")
    record_every: int = Field(ge=1, description="steps")
    tasks: TaskNames
    batch_size: int = Field(ge=2, description="sentences")
    measure: MeasureParams


class Params(Settings):
    """All of params.yaml.

    An objective's settings may name another one that it is a variant of, or a loss of others.
    """

    corpus: CorpusParams
    backbone: BackboneParams
    train: TrainParams
    evaluate: EvaluateParams
    compare: CompareParams
    runs: RunsParams
    conventions: ConventionsParams
    analysis: AnalysisParams
    objectives: Mapping[Any, Any]  # load.py knows what each may be

    def kind(self, name: str) -> str:
        """The registered objective that the named one is, or is a variant of."""
        return str(self.objectives[name].get("variant_of", name))

    def objective(self, name: str) -> Objective:
        """The named objective with its hyperparameters and the conventions that concern it.

        Raises:
            InputError: it is a loss of others that is not there or does not take its values.
        """
        if "loss" in self.objectives[name]:
            own = {k: value for k, value in self.objectives[name].items() if k != "train"}
            return foreign(name, own)
        recipe = OBJECTIVES[self.kind(name)]
        values = self.conventions.model_dump() | dict(self.objectives[name])
        fields = recipe.hyperparameters.model_fields
        return recipe(**{key: values[key] for key in fields if key in values})

    def train_for(self, name: str) -> TrainParams:
        """The loop's settings with the named objective's own replacements."""
        return self.train.model_copy(update=self.objectives[name].get("train", {}))
