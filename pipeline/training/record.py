"""What an encoder's folder says about its making: triad.json and the model card.

Nothing in it differs between equal runs on one machine: no times, no paths of the machine.
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from pipeline.objectives import Objective
from pipeline.params import BackboneParams, TrainParams
from pipeline.prepared import Meta
from pipeline.training.checkpoint import Progress
from pipeline.training.curve import rounded


@dataclass(frozen=True)
class Identity:
    """All that decides a run's result, the machine apart.

    Attributes:
        name: the objective's registry name.
        objective: with its hyperparameters.
        seed: of head, dropout and data order.
        settings: the loop's.
        backbone: where training starts.
        backbone_version: hash of its weights.
        data: the prepared corpus.
    """

    name: str
    objective: Objective
    seed: int
    settings: TrainParams
    backbone: BackboneParams
    backbone_version: str
    data: Meta

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and names, for JSON."""
        settings = dataclasses.asdict(self.settings)
        return {
            "objective": self.name,
            "hyperparameters": dataclasses.asdict(self.objective),
            "seed": self.seed,
            "training": {key: value for key, value in settings.items() if key != "device"},
            "backbone": {
                "source": self.backbone.source,
                "pooling": self.backbone.pooling,
                "version": self.backbone_version,
            },
            "data": {
                "source": self.data.source,
                "hash": self.data.data_hash,
                "sentences": self.data.train,
            },
            "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        }


def write_record(
    folder: Path, identity: Identity, progress: Progress, steps: int, hardware: str
) -> None:
    """Write triad.json and README.md into the encoder's folder."""
    record = identity.as_dict() | {
        "hardware": hardware,
        "steps": steps,
        "best": {"step": progress.best_step, "dev_spearman": round(progress.best_score, 6)},
        "curve": [rounded(row) for row in progress.rows],
    }
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / "triad.json").write_text(text + "\n", encoding="utf-8")
    (folder / "README.md").write_text(_card(record), encoding="utf-8")


def _card(record: Mapping[str, Any]) -> str:
    name, seed, best = record["objective"], record["seed"], record["best"]
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
| best step | {best["step"]} of {record["steps"]} |
| dev Spearman x 100 | {best["dev_spearman"]:.2f} |

```python
from sentence_transformers import SentenceTransformer

embeddings = SentenceTransformer("models/{name}/{seed}").encode(["two sentences", "to compare"])
```

`triad.json` holds the whole record with the training curve.
"""


def _rows(settings: Mapping[str, Any]) -> str:
    return "\n".join(f"| {key.replace('_', ' ')} | {value} |" for key, value in settings.items())
