"""Stage: an encoder's folder -> its metrics, for any sentence-transformers or Hugging Face folder.

    python -m pipeline.evaluate --encoder DIR --data DIR --tasks sts,transfer --out FILE.json

The metrics hold nothing that differs between equal runs and are never put into the encoder's
folder. What the tasks are and how they are scored stands in `pipeline.senteval`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from rich.console import Console

from pipeline.encoder.encoder import SentenceEncoder, locate
from pipeline.encoder.folder import Pooling
from pipeline.encoder.record import read_origin
from pipeline.encoder.version import folder_version
from pipeline.machine.errors import InputError
from pipeline.machine.files import check_apart, check_writable, write_together
from pipeline.machine.stage import parser, run_stage, text_or_null, whole_number
from pipeline.results.evaluate_progress import Display
from pipeline.results.evaluate_tables import notes, tables
from pipeline.results.metrics import Measured, metrics, scores_archive
from pipeline.senteval.benchmark import measure, read
from pipeline.senteval.classifier import SETTINGS, ClassifierName
from pipeline.senteval.graded_pairs import read_dev, without

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    import numpy as np

    from pipeline.senteval.benchmark import Result, Tasks


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if metrics were written, 1 with one sentence if not."""
    return run_stage("evaluate", _run, _parser().parse_args(argv))


def _parser() -> argparse.ArgumentParser:
    options = parser("pipeline.evaluate", __doc__)
    add = options.add_argument
    add("--encoder", required=True, help="folder of the encoder, or its id on the hub")
    add(
        "--data", type=Path, required=True, help="SentEval's downstream folder, or a table of pairs"
    )
    add("--keep", choices=("last", "best"), default="last", help="which step's encoder it is")
    add("--dev", type=Path, help="pairs that picked the best step: not measured in a table")
    tasks = "sts, transfer and names such as STS12,MR, with commas between"
    add("--tasks", default="sts", help=tasks)
    setting = "of the transfer tasks: test (the default), as papers report, or fast"
    add("--setting", choices=tuple(SETTINGS), default="test", help=setting)
    classifier = "likewise: mlp (the default), as papers report, or scikit-learn's logistic"
    add("--classifier", choices=get_args(ClassifierName), default="mlp", help=classifier)
    add("--out", type=Path, required=True, help="JSON file of the metrics")
    add("--scores", type=Path, help=".npz file of all cosines and gold scores")
    add("--batch-size", type=whole_number(1), default=64, help="sentences at a time")
    add("--device", default="auto", help="auto, cpu, cuda, ...")
    pooling = "for a Hugging Face folder, which does not say"
    add("--pooling", choices=get_args(Pooling), default="cls", help=pooling)
    add("--revision", type=text_or_null, help="of an id on the hub: commit, tag or branch")
    return options


def _run(options: argparse.Namespace) -> None:
    given = {"--out": options.out, "--scores": options.scores}
    folder = locate(options.encoder, options.revision)
    _check_paths(folder, {option: path for option, path in given.items() if path})
    chosen = read(options.data, options.tasks)  # before the slow loading of an encoder
    if options.keep == "best" and options.data.is_file():
        chosen = _unseen(chosen, options)
    encoder = SentenceEncoder.load(folder, options.device, options.pooling)
    measured = identify(folder)
    result = _measure(encoder, chosen, options)
    text = json.dumps(metrics(measured, result, options.data), indent=2, allow_nan=False)
    written = {options.scores: scores_archive(result.sts)} if options.scores else {}
    write_together(written | {options.out: f"{text}\n".encode()})
    console = Console()
    for table in tables(measured.encoder, result):
        console.print(table)
    for note in notes(result, options.data):
        console.print(note, soft_wrap=True)


def identify(folder: Path) -> Measured:
    """An encoder's id is `<objective>-<seed>` from its `triad.json`, else its folder's name."""
    origin = read_origin(folder)
    name = origin.name(folder.resolve().name)
    version = folder_version(folder)
    return Measured(name, version, origin.objective, origin.seed, origin.dev_spearman)


def _measure(encoder: SentenceEncoder, chosen: Tasks, options: argparse.Namespace) -> Result:
    def encode(sentences: list[str], progress: Callable[[int], None]) -> np.ndarray:
        return encoder.encode(sentences, options.batch_size, progress)

    with Display(encode, len(chosen)) as display:
        return measure(
            display.encode,
            chosen,
            options.setting,
            options.classifier,
            begin=display.begin,
            advance=display.advance,
        )


def _unseen(chosen: Tasks, options: argparse.Namespace) -> Tasks:
    """The table's pairs without those that picked the encoder's step."""
    if options.dev is None:
        raise InputError("--keep best: name the pairs that picked the step with --dev FILE.")
    (table,) = chosen.sts
    left = without(table.subsets, read_dev(options.dev), options.data)
    return replace(chosen, sts=(replace(table, subsets=left),))


def _check_paths(encoder: Path, written: dict[str, Path]) -> None:
    if not (encoder / "config.json").is_file() and not (encoder / "modules.json").is_file():
        raise InputError(
            f"encoder: {encoder} is no encoder's folder (it has no config.json or modules.json); "
            "give a sentence-transformers or Hugging Face folder."
        )
    check_apart(written)
    for option, path in written.items():
        check_writable(option, path)
        if path.resolve().is_relative_to(encoder.resolve()):
            raise InputError(
                f"{option}: {path} lies in the encoder's folder, whose version is the hash of what "
                "it holds; write elsewhere."
            )


if __name__ == "__main__":
    raise SystemExit(main())
