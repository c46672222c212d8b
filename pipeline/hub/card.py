"""The model card of an encoder that leaves the project: what the hub, and its readers, look for.

Not here: the short card that a training run writes (pipeline/training/identity.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from huggingface_hub import EvalResult, ModelCardData

from pipeline.results.layout import markdown_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TAGS = ("sentence-transformers", "feature-extraction", "sentence-similarity", "triad")


@dataclass(frozen=True)
class Score:
    """One task's score of this encoder, and of its objective over seeds."""

    task: str
    metric: str  # `spearman_cosine` or `accuracy`
    own: float  # x 100
    seeds: tuple[float, ...]  # x 100, one a seed, this encoder's among them

    def cells(self) -> tuple[str, ...]:
        """Task and score; with several seeds, their mean, standard deviation and number too."""
        own = self.task, f"{self.own:.2f}"
        if len(self.seeds) == 1:
            return own
        return *own, f"{mean(self.seeds):.2f}", f"{stdev(self.seeds):.2f}", str(len(self.seeds))


@dataclass(frozen=True)
class Facts:
    """What stands in a card."""

    repo: str  # `owner/name` on the hub
    record: Mapping[str, Any]  # triad.json
    parameters: int
    layers: int
    dimension: int
    max_length: int  # tokens
    license: str
    language: str
    base_model: str | None  # its id on the hub
    datasets: tuple[str, ...]  # their ids on the hub
    scores: tuple[Score, ...]
    reservations: tuple[str, ...]  # why scores must not be put beside published ones


def card(facts: Facts) -> str:
    """The card: metadata with the measured scores, example, scores, training, limits."""
    record, name = facts.record, facts.repo.rpartition("/")[2]
    data = ModelCardData(
        library_name="sentence-transformers",
        pipeline_tag="sentence-similarity",
        license=facts.license,
        language=facts.language,
        base_model=facts.base_model,
        datasets=list(facts.datasets) or None,
        tags=list(TAGS),
        model_name=name if facts.scores else None,
        eval_results=[_result(score) for score in facts.scores] or None,
    )
    settings = record["hyperparameters"] | record["training"] | {"seed": record["seed"]}
    rows = [(key.replace("_", " "), str(value)) for key, value in settings.items()]
    return f"""---
{data.to_yaml()}
---

# {name}

A sentence encoder of {facts.dimension} dimensions. Triad trained it without labels, with the
objective `{record["objective"]}`, on {record["data"]["sentences"]:,} sentences.

## Use

```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("{facts.repo}")
embeddings = model.encode(["A man plays the guitar.", "Somebody is making music."])
print(model.similarity(embeddings, embeddings))
```

## Scores

{_scores(facts.scores)}

## Training

{markdown_table([("setting", "value"), *rows], left=2)}

`triad.json` has the whole record with the training curve.

## Limits

{"".join(f"- {limit}{chr(10)}" for limit in _limits(facts))}"""


def _result(score: Score) -> EvalResult:
    similarity = score.metric == "spearman_cosine"
    return EvalResult(
        task_type="semantic-similarity" if similarity else "text-classification",
        task_name="Semantic similarity" if similarity else "Text classification",
        dataset_type=score.task.lower(),
        dataset_name=score.task,
        dataset_split="test",
        metric_type=score.metric,
        metric_name="Spearman of the cosine" if similarity else "Accuracy",
        metric_value=round(score.own / 100, 6),
    )


def _scores(scores: Sequence[Score]) -> str:
    if not scores:
        return "This encoder was not measured."
    head = ("task", "this encoder", "mean over seeds", "standard deviation", "seeds")
    rows = [score.cells() for score in scores]
    table = markdown_table([head[: len(rows[0])], *rows], left=1)
    return f"x 100: Spearman's correlation of cosine and human judgement, or accuracy.\n\n{table}"


def _limits(facts: Facts) -> list[str]:
    record = facts.record
    seeds = max((len(score.seeds) for score in facts.scores), default=1)
    size = f"{facts.parameters / 1e6:.1f} million parameters in {facts.layers} layers"
    limits = [f"The model has {size}. Compare it with encoders of this size."]
    if seeds == 1:
        limits.append("It is one seed. Another seed can move scores by points.")
    else:
        limits.append(f"It is one of {seeds} seeds that were measured.")
    cut = record["training"]["max_length"]
    limits.append(f"A text is cut after {facts.max_length} tokens; training cut at {cut}.")
    if record["training"].get("keep") == "best":
        limits.append("Labelled dev pairs chose the step that was kept.")
    limits += [
        f"Do not compare the scores with published ones: {why}." for why in facts.reservations
    ]
    limits.append("Training text has the biases of its authors, and so has the encoder.")
    return limits
