"""How long transfer tasks take: our batched classifiers beside the plain protocol.

    python -m benchmarks.senteval --encoder DIR --data DIR --tasks MR,TREC --outer-folds 1

The plain protocol trains one classifier after the other (tests/senteval/unbatched.py, which our
tests compare with). Both get the same features and take turns in rounds; their predictions must be
equal, but for rounding: --double computes in float64, where all are. Exit status 1: some differ in
float64, or ours is not 10 times as fast.
"""

import dataclasses
import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import common
from benchmarks.common import ROOT, ratios, say, shown, spread
from pipeline.encoder.encoder import SentenceEncoder
from pipeline.results.layout import markdown_table
from pipeline.senteval.classifier import SETTINGS, classify
from pipeline.senteval.softmax import Setting
from pipeline.senteval.tasks import TRANSFER_TASKS, read_transfer
from pipeline.senteval.transfer import transfer_features

LEAST = 10.0  # times as fast as the plain protocol

sys.path.insert(0, str(ROOT / "tests" / "senteval"))
unbatched: Any = importlib.import_module("unbatched")


def plain(features: dict[str, np.ndarray], labels: dict[str, np.ndarray], setting: Setting) -> Any:
    """The same protocol, one classifier after the other."""
    dtype = torch.float64 if setting.double else torch.float32
    protocol = dataclasses.replace(unbatched.TEST, dtype=dtype)
    parts = [(features[part], labels[part]) for part in features]
    if len(parts) == 1:
        return unbatched.nested(*parts[0], protocol, setting.outer_folds)
    run = unbatched.cross_validated if len(parts) == 2 else unbatched.validated
    return run(*parts, protocol)


def measure(features: dict[str, np.ndarray], labels: Any, setting: Setting, rounds: int) -> Any:
    """Both on one task."""
    ours_seconds, plain_seconds = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        ours = classify(features, labels, setting)
        middle = time.perf_counter()
        other = plain(features, labels, setting)
        ours_seconds.append(middle - start)
        plain_seconds.append(time.perf_counter() - middle)
    pairs = zip(ours.predictions, other.predictions, strict=True)
    different = sum(int((mine != theirs).sum()) for mine, theirs in pairs)
    return {
        "ours_seconds": spread(ours_seconds),
        "plain_seconds": spread(plain_seconds),
        "ours_faster": ratios(plain_seconds, ours_seconds),
        "ours_accuracy": ours.accuracy,
        "plain_accuracy": other.accuracy,
        "predictions": sum(len(fold) for fold in ours.predictions),
        "different": different,
    }


def markdown(result: dict[str, Any]) -> str:
    """The tasks as a table."""
    columns = ["task", "ours s", "plain s", "ours faster", "ours %", "plain %", "differ"]
    rows = [
        [
            task,
            *(
                shown(task_result[key], 1)
                for key in ("ours_seconds", "plain_seconds", "ours_faster")
            ),
            *(f"{task_result[key]:.2f}" for key in ("ours_accuracy", "plain_accuracy")),
            f"{task_result['different']} of {task_result['predictions']}",
        ]
        for task, task_result in result["tasks"].items()
    ]
    return markdown_table([columns, *rows], left=1)


def main() -> int:
    """Command line."""
    parser = common.parser("senteval", __doc__)
    parser.add_argument("--encoder", type=Path, default=ROOT / "encoders/reference/vicreg_modified")
    parser.add_argument("--data", type=Path, required=True, help="SentEval's downstream folder")
    parser.add_argument("--tasks", default=",".join(TRANSFER_TASKS))
    parser.add_argument("--outer-folds", type=int, help="of nested tasks; all if not given")
    parser.add_argument("--double", action="store_true", help="compute in float64")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    encode = SentenceEncoder.load(options.encoder, device="cpu").encode
    setting = dataclasses.replace(
        SETTINGS["test"], double=options.double, outer_folds=options.outer_folds
    )
    tasks = {}
    for task in options.tasks.split(","):
        data = read_transfer(options.data, task)
        features = transfer_features(encode, data)
        labels = {part: examples.labels for part, examples in data.parts.items()}
        tasks[task] = measure(features, labels, setting, options.rounds)
        say(f"{task}: {json.dumps(tasks[task])}")
    result = {"machine": common.machine("torch", "scikit-learn"), "tasks": tasks}
    print(markdown(result))
    common.write(options, result, markdown(result) + "\n")
    differ = options.double and any(task_result["different"] for task_result in tasks.values())
    slow = any(task_result["ours_faster"]["median"] < LEAST for task_result in tasks.values())
    return 1 if differ or slow else 0


if __name__ == "__main__":
    sys.exit(main())
