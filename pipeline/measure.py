"""Stage: an encoder and held-out sentences -> section 3.2's measurements of its embeddings.

    python -m pipeline.measure --encoder DIR --prepared DIR --batches 20 --batch-size 128 --seed 42
        --margin 0.3 --temperatures 0.01 0.05 0.3 --steps 0.1 0.5 --out FILE.json

Any encoder that was trained on the prepared folder's tokens, and the untrained backbone. What is
measured stands in `pipeline.paper.held_out.schema`.
"""

import argparse
import hashlib
import json
import math
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from tqdm import tqdm

from pipeline.data.prepared import Meta
from pipeline.data.tokens import TokenArrays
from pipeline.encoder.encoder import SentenceEncoder, locate
from pipeline.encoder.folder import Pooling
from pipeline.encoder.record import read_origin
from pipeline.encoder.version import check_outside, folder_version
from pipeline.machine.cores import processor
from pipeline.machine.device import describe
from pipeline.machine.errors import InputError
from pipeline.machine.files import write_atomically
from pipeline.machine.stage import parser, run_stage, text_or_null, whole_number
from pipeline.paper.held_out.measurements import measure
from pipeline.paper.held_out.schema import Data, Measurement, Settings
from pipeline.paper.held_out.views import complete_batches, dropout_views
from pipeline.training.network import attend_with_dropout, refuse_without_dropout

LARGEST_SEED = 2**32 - 1  # of NumPy's


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if the measurements were written, 1 with one sentence if not."""
    return run_stage("measure", _run, _parser().parse_args(argv))


def _run(options: argparse.Namespace) -> None:
    check_outside(Path(options.encoder), "--out", options.out)
    meta = Meta.load(options.prepared)
    batches = complete_batches(meta.held_out, options.batch_size, options.batches)
    tokens = TokenArrays.load(options.prepared / "held_out")
    encoder = _load(options, meta)
    settings = Settings(
        seed=options.seed,
        margin=options.margin,
        temperatures=options.temperatures,
        steps=options.steps,
    )
    views = dropout_views(
        encoder, tokens, meta.pad_id, batch_size=options.batch_size, seed=settings.seed
    )
    progress = tqdm(islice(views, batches), "batches", batches, disable=None)
    device = encoder.model.device
    measurement = Measurement(
        encoder=describe_encoder(options.encoder, encoder.layout.pooling, options.revision),
        data=Data(
            source=meta.source,
            hash=meta.data_hash,
            held_out=meta.held_out,
            batches=batches,
            batch_size=options.batch_size,
            sentences=batches * options.batch_size,
        ),
        settings=settings,
        hardware=describe(device) + (f" of {processor()}" if device.type == "cpu" else ""),
        **measure(progress, settings),
    )
    text = json.dumps(measurement.model_dump(), indent=1, ensure_ascii=False)
    write_atomically(options.out, f"{text}\n".encode())
    print(_summary(measurement))


def _load(options: argparse.Namespace, meta: Meta) -> SentenceEncoder:
    """The encoder as training has it; one whose token ids mean other words is refused."""
    encoder = SentenceEncoder.load(
        options.encoder, options.device, options.pooling, options.revision
    )
    tokenizer = encoder.tokenizer.backend_tokenizer
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if hashlib.sha256(tokenizer.to_str().encode()).hexdigest() != meta.tokenizer_hash:
        raise InputError(
            f"--prepared: {options.prepared} holds tokens of {meta.backbone}, whose tokenizer is "
            f"not that of {options.encoder}; prepare the corpus for this encoder's backbone."
        )
    refuse_without_dropout(encoder, options.encoder)
    attend_with_dropout(encoder.model)
    return encoder


def describe_encoder(source: str, pooling: str, revision: str | None = None) -> dict[str, Any]:
    """Who is measured: name and version, and for an encoder of Triad's what its record says.

    Raises:
        InputError: the record is broken.
    """
    folder = locate(source, revision)
    origin = read_origin(folder)
    return {
        "name": origin.name(Path(source).resolve().name if Path(source).exists() else source),
        "objective": origin.objective,
        "seed": origin.seed,
        "version": folder_version(folder),
        "steps": origin.steps,
        "step": origin.step,
        "pooling": pooling,
    }


def _summary(measurement: Measurement) -> str:
    """One line for the terminal."""
    data, cosines, shares = measurement.data, measurement.cosines, measurement.hardest_share
    return (
        f"{measurement.encoder['name']}: {data.batches} batches of {data.batch_size}; mean cosine "
        f"{cosines.positive.mean:.3f} of positives, {cosines.negative.mean:.3f} of negatives, "
        f"gap {cosines.gap.mean:.3f}; {shares.open_share:.1%} of {shares.anchors:,} anchors open."
    )


def _parser() -> argparse.ArgumentParser:
    options = parser("pipeline.measure", __doc__)
    options.add_argument("--encoder", required=True, help="folder or model id of the encoder")
    options.add_argument("--prepared", type=Path, required=True, help="folder that prepare wrote")
    at_most = "fewer are taken where the held-out sentences fill no more"
    options.add_argument("--batches", type=whole_number(1), required=True, help=at_most)
    options.add_argument(
        "--batch-size", type=whole_number(2), required=True, help="sentences a batch"
    )
    draws = "of the order of sentences, the dropout masks and the densities' subsample"
    options.add_argument("--seed", type=whole_number(0, LARGEST_SEED), required=True, help=draws)
    gate = "of the gate that decides which anchors are open, in cosine"
    margin = _number(lambda value: 0 <= value <= 2, "from 0 to 2")
    options.add_argument("--margin", type=margin, required=True, help=gate)
    positive = _number(lambda value: 0 < value < math.inf, "above 0")
    weights = "of the softmax weights; they divide the cosine"
    options.add_argument("--temperatures", type=positive, nargs="+", required=True, help=weights)
    lengths = "lambda of Lemma 1: lengths of a step"
    options.add_argument("--steps", type=positive, nargs="+", required=True, help=lengths)
    options.add_argument("--out", type=Path, required=True, help="JSON file")
    options.add_argument("--device", default="auto", help="auto, cpu, cuda, ...")
    pooling = "for a Hugging Face folder, which does not say"
    options.add_argument("--pooling", choices=get_args(Pooling), default="cls", help=pooling)
    revision = "of an id on the hub: commit, tag or branch"
    options.add_argument("--revision", type=text_or_null, help=revision)
    return options


def _number(is_allowed: Callable[[float], bool], allowed: str) -> Callable[[str], float]:
    """The type of an option that takes such a number."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan  # lies in no range
        if not is_allowed(value):
            raise argparse.ArgumentTypeError(f"{text!r} is not a number {allowed}")
        return value

    return read


if __name__ == "__main__":
    raise SystemExit(main())
