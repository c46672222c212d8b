"""What an encoder's folder says about its making: triad.json and the model card.

Nothing in it differs between equal runs on one machine: no times, no paths of the machine.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.training.checkpoint import Progress
from pipeline.training.curves import rounded
from pipeline.training.identity import Identity


def make_record(
    identity: Identity, progress: Progress, steps: int, hardware: str
) -> dict[str, Any]:
    """What triad.json holds of a finished run."""
    step, score = progress.step, progress.last_score
    if identity.settings.keep == "best":
        step, score = progress.best_step, progress.best_score
    return identity.as_dict() | {
        "hardware": hardware,
        "steps": steps,
        "kept": {"step": step, "dev_spearman": round(score, 6)},
        "best": {"step": progress.best_step, "dev_spearman": round(progress.best_score, 6)},
        "curve": [rounded(row) for row in progress.rows],
    }


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Write triad.json and README.md into the encoder's folder."""
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
