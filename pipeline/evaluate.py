"""Stage: an encoder's folder -> its metrics, for any sentence-transformers or Hugging Face folder.

    python -m pipeline.evaluate --encoder DIR --data DIR --tasks sts,transfer --out FILE.json

The metrics hold nothing that differs between equal runs and are never put into the encoder's
folder. What the tasks are and how they are scored stands in `pipeline.senteval`.
"""

import argparse
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np
from rich.console import Console
from tqdm import tqdm

from pipeline.encoder.encoder import SentenceEncoder, locate
from pipeline.encoder.folder import Pooling
from pipeline.encoder.record import read_origin
from pipeline.encoder.version import check_outside, folder_version
from pipeline.machine.device import PRECISIONS, encoding_dtype
from pipeline.machine.errors import InputError
from pipeline.machine.files import check_apart, check_writable, write_together
from pipeline.machine.stage import parser, run_stage, text_or_null, whole_number
from pipeline.results.evaluate_tables import notes, tables
from pipeline.results.layout import DIGITS
from pipeline.results.metrics import metrics, scores_archive
from pipeline.senteval.benchmark import Result, measure
from pipeline.senteval.classifier import SETTINGS
from pipeline.senteval.graded_pairs import read_dev, without
from pipeline.senteval.similarity import cosine_scores, spearman
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
    dev = "pairs that picked the best step, not measured in a table; a backbone is scored on them"
    add("--dev", type=Path, help=dev)
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
    mean = "JSON file of the metrics with the mean of all tokens, of a backbone, besides"
    add("--mean-out", type=Path, help=mean)
    add("--revision", type=text_or_null, help="of an id on the hub: commit, tag or branch")
    return options


def _run(options: argparse.Namespace) -> None:
    folder = locate(options.encoder, options.revision)
    outputs = {"--out": options.out, "--scores": options.scores, "--mean-out": options.mean_out}
    _check_outputs(folder, {option: path for option, path in outputs.items() if path})
    tasks = read(options.data, options.tasks)  # before the slow loading of an encoder
    if options.keep == "best" and options.data.is_file():
        tasks = _unseen(tasks, options)
    encoder = SentenceEncoder.load(folder, options.device, options.pooling)
    dtype = encoding_dtype(options.precision, encoder.model.device)
    encoder = replace(encoder, autocast=dtype)
    content, result = _measured(encoder, folder, "", tasks, options)
    files = {options.out: content}
    if options.scores:
        files[options.scores] = scores_archive(result.sts, clusters(tasks.sts))
    if options.mean_out:
        mean = replace(encoder, layout=replace(encoder.layout, pooling="mean"))
        files[options.mean_out], _ = _measured(mean, folder, ", mean", tasks, options)
    write_together(files)


def _measured(
    encoder: SentenceEncoder, folder: Path, how: str, tasks: Tasks, options: argparse.Namespace
) -> tuple[bytes, Result]:
    """The metrics file's content, and the scores that it comes from.

    The terminal shows them, with `how` behind the encoder's name.
    """
    origin = read_origin(folder)
    name = origin.name(folder.resolve().name)
    encode = partial(_encode, encoder, options.batch_size)
    # Training measures its own encoders; one with --mean-out is a backbone.
    if options.dev and (origin.objective is None or options.mean_out):
        pairs = read_dev(options.dev)
        dev = spearman(cosine_scores(encode, pairs), pairs.gold)
        origin = replace(origin, dev_spearman=round(dev, DIGITS))
    result = measure(encode, tasks, options.setting)
    measured = metrics(name, folder_version(folder), origin, result, options.data)
    if options.precision != "fp32":
        measured = measured.model_copy(update={"precision": options.precision})
    console = Console()
    for table in tables(name + how, result):
        console.print(table)
    for note in notes(result, options.data):
        console.print(note, soft_wrap=True)
    return f"{json.dumps(measured.content(), indent=2)}\n".encode(), result


def _encode(encoder: SentenceEncoder, batch_size: int, sentences: list[str]) -> np.ndarray:
    batches = encoder.batches(encoder.tokenize(sentences), batch_size)
    shown = tqdm(batches, desc="batches", leave=False, disable=None)
    return encoder.encode_batches(shown, len(sentences))


def _unseen(tasks: Tasks, options: argparse.Namespace) -> Tasks:
    """The table's pairs without those that picked the encoder's step."""
    if options.dev is None:
        raise InputError("--keep best: name the pairs that picked the step with --dev FILE.")
    (table,) = tasks.sts
    rest = without(table.subsets, read_dev(options.dev), options.data)
    return replace(tasks, sts=(replace(table, subsets=rest),))


def _check_outputs(encoder: Path, outputs: dict[str, Path]) -> None:
    check_apart(outputs)
    for option, path in outputs.items():
        check_writable(option, path)
        check_outside(encoder, option, path)


if __name__ == "__main__":
    raise SystemExit(main())
