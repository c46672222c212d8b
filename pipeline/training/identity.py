"""What one training run depends on, and what its encoder's folder says of it.

Nothing in a folder differs between equal runs on one machine: no times, and no paths but those that
params.yaml names.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from pipeline.config.schema import BackboneParams, Keep, Params, TrainParams
from pipeline.data.prepared import Meta
from pipeline.encoder.encoder import locate
from pipeline.encoder.version import folder_version
from pipeline.machine.errors import ConfigError
from pipeline.machine.settings import unknown
from pipeline.objectives import Objective
from pipeline.objectives.adapters import library_version
from pipeline.training.checkpoint import Progress
from pipeline.training.curves import rounded

# Of NumPy's and scikit-learn's seeds.
SEEDS = 2**32
# Settings of `train` that say where a run takes place, and who watches it; and those of how
# steps are taken, which records have under `training`.
ELSEWHERE = ("device", "launcher", "track", "packed", "capture")


@dataclass(frozen=True)
class Identity:
    """All that decides a run's result, the machine apart."""

    name: str  # of the objective in params.yaml
    kind: str  # the registered objective that it is, or is a variant of
    objective: Objective
    seed: int  # of head, dropout and data order
    settings: TrainParams
    backbone: BackboneParams
    backbone_version: str  # hash of its weights
    data: Meta

    @property
    def steps(self) -> int:
        """Optimizer steps in all; a batch that is not full is left out."""
        epoch = self.data.train // self.settings.batch_size
        return self.settings.steps or self.settings.epochs * epoch

    def plan(self) -> str:
        """What the run will do, as a sentence."""
        settings = self.settings
        return (
            f"{self.steps:,} steps of {settings.batch_size:,} sentences from "
            f"{self.backbone.source} on {self.data.train:,} sentences of {self.data.source}, "
            f"learning rate {settings.learning_rate:g}, {settings.keep} step kept."
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and names, for JSON."""
        settings = self.settings.model_dump()
        variant = {} if self.kind == self.name else {"variant_of": self.kind}
        revision = self.backbone.revision
        return {
            "objective": self.name,
            **variant,
            "hyperparameters": self.objective.hyperparameters.model_dump(),
            "seed": self.seed,
            "training": {key: value for key, value in settings.items() if key not in ELSEWHERE},
            "backbone": {
                "source": self.backbone.source,
                **({} if revision is None else {"revision": revision}),
                "pooling": self.backbone.pooling,
                "version": self.backbone_version,
            },
            "data": {
                "source": self.data.source,
                "hash": self.data.data_hash,
                "sentences": self.data.train,
            },
            "versions": {
                "torch": torch.__version__,
                "transformers": transformers.__version__,
                **library_version(self.objective.hyperparameters.model_dump().get("loss", "")),
            },
        }

    def why_collapsed(self, reason: str) -> str:
        """The sentence for a run whose embeddings became equal or not finite."""
        return (
            f"{self.name} with seed {self.seed} collapsed: {reason.rstrip('.')}. Try a lower "
            f"learning rate (now {self.settings.learning_rate}), or another margin, temperature or "
            f"coefficient (now {self.objective.hyperparameters!r}); no encoder was written."
        )


def identify(
    params: Params, name: str, seed: int, prepared: Path, replaced: Mapping[str, Any] | None = None
) -> Identity:
    """Join configuration and prepared data into what one run depends on.

    Settings of `train` that this run has otherwise are in `replaced`, where they are not None.

    Raises:
        ConfigError: an unknown objective, a seed out of range, or data prepared for other settings.
    """
    if name not in params.objectives:
        raise ConfigError(f"train: {unknown('objective', name, params.objectives)}")
    if not 0 <= seed < SEEDS:
        raise ConfigError(
            f"--seed: {seed} is out of range; give a whole number from 0 to {SEEDS - 1}."
        )
    changes = {key: value for key, value in (replaced or {}).items() if value is not None}
    settings = params.train_for(name).model_copy(update=changes)
    data = Meta.load(prepared)
    prepared_for = (data.source, data.backbone, data.max_length)
    needed = (params.corpus.source, params.backbone.source, settings.max_length)
    if prepared_for != needed:
        raise ConfigError(
            f"{prepared}: prepared for corpus, backbone and length "
            f"{', '.join(map(str, prepared_for))}, but params.yaml says "
            f"{', '.join(map(str, needed))}; run `dvc repro prepare`."
        )
    if data.train < settings.batch_size:
        raise ConfigError(
            f"{prepared}: {data.train} sentences are fewer than one batch of "
            f"{settings.batch_size}; give more text or a smaller train.batch_size."
        )
    version = folder_version(locate(params.backbone.source, params.backbone.revision))
    objective = params.objective(name)
    kind = params.kind(name)
    return Identity(name, kind, objective, seed, settings, params.backbone, version, data)


def write_record(
    folder: Path,
    identity: Identity,
    keep: Keep,
    progress: Progress,
    execution: Mapping[str, Any],
) -> None:
    """Write triad.json and the model card of the step that is kept into an encoder's folder.

    Args:
        folder: the encoder's.
        identity: what the run depended on.
        keep: whether the encoder is the last step's or the best one's.
        progress: how the run went.
        execution: `hardware` in words, and `training`: settings as they were taken, where the
            identity's say `auto`.
    """
    last = {"step": progress.step, "dev_spearman": round(progress.last_score, 6)}
    best = {"step": progress.best_step, "dev_spearman": round(progress.best_score, 6)}
    own = identity.as_dict()
    record = own | {
        "training": own["training"] | {"keep": keep, **execution["training"]},
        "hardware": execution["hardware"],
        "steps": identity.steps,
        "kept": last if keep == "last" else best,
        "best": best,
        "curve": [rounded(row) for row in progress.rows],
    }
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / "triad.json").write_text(text + "\n", encoding="utf-8")
    (folder / "README.md").write_text(_card(record), encoding="utf-8")


def _card(record: Mapping[str, Any]) -> str:
    name, seed, kept = record["objective"], record["seed"], record["kept"]
    return f"""---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
language: en
tags: [sentence-transformers, feature-extraction, sentence-similarity, triad]
---

# {name}-{seed}

A sentence encoder trained by Triad with the objective `{name}` from
`{record["backbone"]["source"]}` on {record["data"]["sentences"]:,} sentences of
`{record["data"]["source"]}`.

| setting | value |
| --- | --- |
{_rows(record["hyperparameters"])}
{_rows(record["training"])}
| pooling | {record["backbone"]["pooling"]} |
| seed | {seed} |
| step | {kept["step"]} of {record["steps"]} |
| dev Spearman x 100 | {kept["dev_spearman"]:.2f} |

```python
from sentence_transformers import SentenceTransformer

embeddings = SentenceTransformer("models/{name}/{seed}").encode(["two sentences", "to compare"])
```

`triad.json` holds the whole record with the training curve.
"""


def _rows(settings: Mapping[str, Any]) -> str:
    return "\n".join(f"| {key.replace('_', ' ')} | {value} |" for key, value in settings.items())
