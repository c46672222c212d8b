"""Stage: an encoder's folder -> its metrics, for any sentence-transformers or Hugging Face folder.

    python -m pipeline.evaluate --encoder DIR --data DIR --tasks sts,transfer --out FILE.json

The metrics hold nothing that differs between equal runs and are never put into the encoder's
folder. What the tasks are and how they are scored stands in `pipeline.senteval`.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
from rich.console import Console
from tqdm import tqdm

from pipeline.encoder.encoder import SentenceEncoder, locate
from pipeline.encoder.folder import Pooling
from pipeline.encoder.record import read_origin
from pipeline.encoder.version import folder_version
from pipeline.machine.device import PRECISIONS, encoding_dtype
from pipeline.machine.errors import InputError
from pipeline.machine.files import check_apart, check_writable, write_together
from pipeline.machine.stage import parser, run_stage, text_or_null, whole_number
from pipeline.results.evaluate_tables import notes, tables
from pipeline.results.metrics import metrics, scores_archive
from pipeline.senteval.benchmark import Result, measure
from pipeline.senteval.classifier import SETTINGS
from pipeline.senteval.graded_pairs import read_dev, without
from pipeline.senteval.sts import clusters
from pipeline.senteval.tasks import Tasks, read


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
    add("--out", type=Path, required=True, help="JSON file of the metrics")
    add("--scores", type=Path, help=".npz file of all cosines and gold scores")
    add("--batch-size", type=whole_number(1), default=64, help="sentences at a time")
    add("--device", default="auto", help="auto, cpu, cuda, ...")
    add("--precision", choices=PRECISIONS, default="fp32", help="of matrix products (fp32)")
    pooling = "for a Hugging Face folder, which does not say"
    add("--pooling", choices=get_args(Pooling), default="cls", help=pooling)
    add("--revision", type=text_or_null, help="of an id on the hub: commit, tag or branch")
    return options


def _run(options: argparse.Namespace) -> None:
    folder = locate(options.encoder, options.revision)
    outputs = {"--out": options.out, "--scores": options.scores}
    _check_outputs(folder, {option: path for option, path in outputs.items() if path})
    chosen = read(options.data, options.tasks)  # before the slow loading of an encoder
    if options.keep == "best" and options.data.is_file():
        chosen = _unseen(chosen, options)
    encoder = SentenceEncoder.load(folder, options.device, options.pooling)
    dtype = encoding_dtype(options.precision, encoder.model.device)
    encoder = replace(encoder, autocast=dtype)
    origin = read_origin(folder)
    name = origin.name(folder.resolve().name)
    result = _measure(encoder, chosen, options)
    content = metrics(name, folder_version(folder), origin, result, options.data).content()
    written = {options.out: f"{json.dumps(content, indent=2)}\n".encode()}
    if options.scores:
        written[options.scores] = scores_archive(result.sts, clusters(chosen.sts))
    write_together(written)
    console = Console()
    for table in tables(name, result):
        console.print(table)
    for note in notes(result, options.data):
        console.print(note, soft_wrap=True)


def _measure(encoder: SentenceEncoder, chosen: Tasks, options: argparse.Namespace) -> Result:
    def encode(sentences: list[str]) -> np.ndarray:
        with tqdm(total=len(sentences), desc="sentences", leave=False, disable=None) as progress:
            return encoder.encode(sentences, options.batch_size, progress.update)

    return measure(encode, chosen, options.setting)


def _unseen(chosen: Tasks, options: argparse.Namespace) -> Tasks:
    """The table's pairs without those that picked the encoder's step."""
    if options.dev is None:
        raise InputError("--keep best: name the pairs that picked the step with --dev FILE.")
    (table,) = chosen.sts
    left = without(table.subsets, read_dev(options.dev), options.data)
    return replace(chosen, sts=(replace(table, subsets=left),))


def _check_outputs(encoder: Path, outputs: dict[str, Path]) -> None:
    check_apart(outputs)
    for option, path in outputs.items():
        check_writable(option, path)
        if path.resolve().is_relative_to(encoder.resolve()):
            raise InputError(
                f"{option}: {path} lies in the encoder's folder, whose version is the hash of what "
                "it holds; write elsewhere."
            )


if __name__ == "__main__":
    raise SystemExit(main())
