"""How long the transfer tasks take: encoding, our classifiers, and others' on the same features.

    python benchmarks/senteval.py --encoder DIR --data DIR --outer-folds 1

Others are the plain protocol that our tests compare with, one classifier after the other
(`unbatched`); and, given the path of a checkout, SentEval itself (`senteval`), whose `.cuda()` is
made to do nothing. All times are of one run on one machine: they mean nothing beside those of
another.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import inspect
import itertools
import json
import resource
import sys
import time
import types
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from sklearn.model_selection import StratifiedKFold

from pipeline.senteval.classifier import SETTINGS, classify
from pipeline.senteval.softmax import Setting
from pipeline.senteval.tasks import TRANSFER_TASKS, TransferData, read_transfer, select
from pipeline.senteval.transfer import transfer_features

if TYPE_CHECKING:
    from pipeline.senteval.similarity import Encode

ROOT = Path(__file__).parents[1]
Parts = dict[str, np.ndarray]
Measure = Callable[[Parts, Parts, Setting], float]  # features, labels, setting -> accuracy


def ours(features: Parts, labels: Parts, setting: Setting) -> float:
    """Folds and decays together."""
    return classify(features, labels, setting).accuracy


def seeded(seed: int) -> Measure:
    """Ours, with another seed of the classifiers."""
    return lambda features, labels, setting: ours(
        features, labels, dataclasses.replace(setting, seed=seed)
    )


def unbatched(features: Parts, labels: Parts, setting: Setting) -> float:
    """The plain protocol, which lives in the tests."""
    sys.path.insert(0, str(ROOT / "tests" / "senteval"))
    plain = importlib.import_module("unbatched")
    names = ("folds", "optimizer", "batch_size", "patience", "epoch_size", "seed")
    protocol = plain.Protocol(**{name: getattr(setting, name) for name in names})
    pairs = [(features[part].astype(np.float32), labels[part]) for part in features]
    if len(pairs) == 1:
        outcome = plain.nested(*pairs[0], protocol, setting.outer_folds)
    else:
        run = plain.cross_validated if len(pairs) == 2 else plain.validated
        outcome = run(*pairs, protocol)
    return float(outcome.accuracy)


def senteval_of(checkout: Path) -> Measure:
    """SentEval's own classifiers; `volatile`, `getargspec` and CUDA are gone where they are run."""
    package = types.ModuleType("senteval")  # without its __init__, which imports every task
    package.__path__ = [str(checkout / "senteval")]
    sys.modules["senteval"] = package
    vars(inspect).setdefault("getargspec", lambda f: inspect.getfullargspec(f)[:4])
    unmoved: Any = lambda self, *_, **__: self  # noqa: E731
    torch.Tensor.cuda = torch.nn.Module.cuda = unmoved  # type: ignore[method-assign]
    warnings.filterwarnings("ignore", message="volatile was removed")
    validation: Any = importlib.import_module("senteval.tools.validation")

    def measure(features: Parts, labels: Parts, setting: Setting) -> float:
        classifier = {
            "nhid": 0,
            "optim": setting.optimizer,
            "batch_size": setting.batch_size,
            "tenacity": setting.patience,
            "epoch_size": setting.epoch_size,
        }
        config = {
            "nclasses": int(max(one.max() for one in labels.values())) + 1,
            "seed": setting.seed,
            "usepytorch": True,
            "kfold": setting.folds,
            "classifier": classifier,
        }
        validation.StratifiedKFold = _first_outer_folds(
            setting.outer_folds if "all" in features else None
        )
        x = {part: one.astype(np.float32) for part, one in features.items()}
        if "all" in x:
            run = validation.InnerKFoldClassifier(x["all"], labels["all"], config)
        elif "dev" in x:
            names = {"train": "train", "dev": "valid", "test": "test"}
            run = validation.SplitClassifier(
                {names[part]: one for part, one in x.items()},
                {names[part]: one for part, one in labels.items()},
                config,
            )
        else:
            both = ({"X": x[part], "y": labels[part]} for part in ("train", "test"))
            run = validation.KFoldClassifier(*both, config)
        return float(run.run()[1])

    return measure


def _first_outer_folds(count: int | None) -> Callable[..., StratifiedKFold]:
    """Stands in for scikit-learn's class: the first instance, for the outer folds, ends early."""
    made: list[StratifiedKFold] = []

    class Folds(StratifiedKFold):  # type: ignore[misc]
        def split(self, *arguments: Any) -> Any:
            every = super().split(*arguments)
            return itertools.islice(every, count) if self is made[0] else every

    def make(**options: Any) -> StratifiedKFold:
        made.append(Folds(**options))
        return made[-1]

    return make


def word_vectors(width: int) -> Encode:
    """An encoder that costs nothing: normalized sums of a random vector for each word."""

    def encode(sentences: list[str]) -> np.ndarray:
        words = {word for sentence in sentences for word in sentence.split()}
        vectors = {
            word: np.random.default_rng(zlib.crc32(word.encode())).normal(size=width)
            for word in words
        }
        sums = np.stack([np.sum([vectors[w] for w in one.split()], axis=0) for one in sentences])
        unit: np.ndarray = (sums / np.linalg.norm(sums, axis=1, keepdims=True)).astype(np.float32)
        return unit

    return encode


def timed(measure: Measure, features: Parts, labels: Parts, setting: Setting) -> dict[str, float]:
    """Wall time in seconds, and the accuracy."""
    start = time.perf_counter()
    accuracy = measure(features, labels, setting)
    return {"seconds": time.perf_counter() - start, "accuracy": accuracy}


def measure_task(
    data: TransferData, encode: Encode, measures: dict[str, Measure], setting: Setting
) -> dict[str, dict[str, float]]:
    """Each measure's time and accuracy on one task, and the time of encoding."""
    start = time.perf_counter()
    features = transfer_features(encode, data)
    row = {"encoding": {"seconds": time.perf_counter() - start}}
    labels = {part: examples.labels for part, examples in data.parts.items()}
    return row | {name: timed(one, features, labels, setting) for name, one in measures.items()}


def table(rows: dict[str, dict[str, dict[str, float]]], title: str) -> Table:
    """Seconds, ratios to ours, accuracies, and the sums."""
    columns = list(next(iter(rows.values())))
    others = columns[2:]
    shown = Table(title=title)
    shown.add_column("task")
    for name in columns:
        shown.add_column(f"{name} s", justify="right")
    for name in others:
        shown.add_column(f"{name} / ours", justify="right")
    for name in columns[1:]:
        shown.add_column(f"{name} %", justify="right")
    seconds = {task: [row[name]["seconds"] for name in columns] for task, row in rows.items()}
    seconds["sum"] = [sum(one) for one in zip(*seconds.values(), strict=True)]
    for task, values in seconds.items():
        ratios = [f"{value / values[1]:.1f}" for value in values[2:]]
        accuracies = (
            [f"{rows[task][name]['accuracy']:.2f}" for name in columns[1:]] if task in rows else []
        )
        shown.add_row(task, *(f"{value:.1f}" for value in values), *ratios, *accuracies)
    return shown


def main() -> None:
    """Command line."""
    options = _parser().parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    if options.words:
        encode = word_vectors(options.words)
    else:
        from pipeline.encoder.encoder import SentenceEncoder  # noqa: PLC0415 - slow, and not always needed

        encode = SentenceEncoder.load(options.encoder, device="cpu").encode
    known: dict[str, Measure] = {"ours": ours, "unbatched": unbatched}
    if options.senteval:
        known["senteval"] = senteval_of(options.senteval)
    names = ["ours", *options.against.split(","), *(["senteval"] if options.senteval else [])]
    measures = {name: known[name] for name in names if name}
    measures |= {f"seed {seed}": seeded(seed) for seed in options.seeds}
    setting = dataclasses.replace(SETTINGS[options.setting], outer_folds=options.outer_folds)
    present, _ = select(options.data, options.tasks.split(","))
    rows = {}
    for task in present:
        rows[task] = measure_task(read_transfer(options.data, task), encode, measures, setting)
        print(f"{task}: {json.dumps(rows[task])}", file=sys.stderr, flush=True)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    title = (
        f"Transfer tasks, setting {options.setting}, outer folds "
        f"{options.outer_folds or 'all'}, {torch.get_num_threads()} threads"
    )
    Console(width=160).print(table(rows, title), f"peak memory {memory:.2f} GiB")
    if options.out:
        options.out.write_text(json.dumps({"tasks": rows, "peak_gib": memory}, indent=2) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    encoder = parser.add_mutually_exclusive_group(required=True)
    encoder.add_argument(
        "--encoder", type=Path, help="sentence-transformers or Hugging Face folder"
    )
    encoder.add_argument("--words", type=int, help="random word vectors of this width instead")
    parser.add_argument("--data", type=Path, required=True, help="SentEval's downstream folder")
    parser.add_argument("--tasks", default=",".join(TRANSFER_TASKS))
    parser.add_argument("--setting", choices=list(SETTINGS), default="test")
    parser.add_argument("--outer-folds", type=int, help="of nested tasks; all if not given")
    parser.add_argument("--against", default="unbatched", help="others, or nothing")
    parser.add_argument("--seeds", type=int, nargs="*", default=[], help="more seeds of ours")
    parser.add_argument("--senteval", type=Path, help="checkout of SentEval to run as well")
    parser.add_argument("--threads", type=int, help="that torch may use")
    parser.add_argument("--out", type=Path, help="JSON file of the same figures")
    return parser


if __name__ == "__main__":
    main()
