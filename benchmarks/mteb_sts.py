"""MTEB's own code on an encoder's folder and on local copies of its STS tasks, without internet.

    make mteb ENCODER=encoders/reference/vicreg_modified DATA=SentEval/data/downstream

The package `mteb` runs in a venv of its own (benchmarks/mteb.txt). The tasks are SentEval's files,
read as pipeline.evaluate reads them; encoding and scoring are sentence-transformers' and MTEB's.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ["HF_HUB_OFFLINE"] = "1"  # read when the libraries are imported

import mteb
from datasets import Dataset, DatasetDict
from sentence_transformers import SentenceTransformer

from pipeline.senteval.readers import join_pairs
from pipeline.senteval.tasks import read_sts

if TYPE_CHECKING:
    from collections.abc import Sequence

# MTEB's names of SentEval's tasks.
NAMES = {task: task for task in ("STS12", "STS13", "STS14", "STS15", "STS16", "SICK-R")}
NAMES["STS-B"] = "STSBenchmark"


def local_task(name: str, data: Path) -> Any:
    """MTEB's task with the pairs of SentEval's folder in place of the hub's."""
    (task,) = mteb.get_tasks(tasks=[NAMES[name]])
    pairs = join_pairs(name, read_sts(data, name).subsets)
    columns = {"sentence1": pairs.first, "sentence2": pairs.second, "score": pairs.gold.tolist()}
    task.dataset = DatasetDict({"test": Dataset.from_dict(columns)})
    task.data_loaded = True
    return task


def scores(encoder: Path, data: Path, names: Sequence[str]) -> dict[str, float]:
    """Spearman of cosine and gold x 100, by SentEval's name of the task."""
    model = SentenceTransformer(str(encoder), device="cpu")
    found = {}
    for name in names:
        task = local_task(name, data)
        result = mteb.evaluate(model, task, cache=None, show_progress_bar=False)
        (score,) = result.task_results[0].scores["test"]
        found[name] = 100 * float(score["cosine_spearman"])
    return found


def main() -> None:
    """Command line: a line a task, and JSON if a file is named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mteb_sts", description=__doc__)
    parser.add_argument("--encoder", type=Path, required=True, help="sentence-transformers folder")
    parser.add_argument("--data", type=Path, required=True, help="SentEval's downstream folder")
    parser.add_argument("--tasks", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--out", type=Path, help="JSON file of the scores")
    options = parser.parse_args()
    averages = scores(options.encoder, options.data, options.tasks)
    for name, score in averages.items():
        print(f"{name:8}{score:6.2f}")
    if options.out:
        options.out.write_text(json.dumps(averages, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
