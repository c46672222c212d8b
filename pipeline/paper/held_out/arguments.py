"""The command line of the measuring stage."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import get_args

from pipeline.encoder.folder import Pooling
from pipeline.machine.stage import parser as stage_parser
from pipeline.machine.stage import text_or_null, whole_number

LARGEST_SEED = 2**32 - 1  # of NumPy's


def parser(description: str | None) -> argparse.ArgumentParser:
    """All options of `python -m pipeline.measure`."""
    made = stage_parser("pipeline.measure", description)
    made.add_argument("--encoder", required=True, help="folder or model id of the encoder")
    made.add_argument("--prepared", type=Path, required=True, help="folder that prepare wrote")
    at_most = "fewer are taken where the held-out sentences fill no more"
    made.add_argument("--batches", type=whole_number(1), required=True, help=at_most)
    made.add_argument("--batch-size", type=whole_number(2), required=True, help="sentences a batch")
    draws = "of the order of sentences, the dropout masks and the densities' subsample"
    made.add_argument("--seed", type=whole_number(0, LARGEST_SEED), required=True, help=draws)
    margin = "of the gate that decides which anchors are open, in cosine"
    made.add_argument("--margin", type=_margin, required=True, help=margin)
    weights = "of the softmax weights; they divide the cosine"
    made.add_argument("--temperatures", type=_positive, nargs="+", required=True, help=weights)
    lengths = "lambda of Lemma 1: lengths of a step"
    made.add_argument("--steps", type=_positive, nargs="+", required=True, help=lengths)
    made.add_argument("--out", type=Path, required=True, help="JSON file")
    made.add_argument("--device", default="auto", help="auto, cpu, cuda, ...")
    pooling = "for a Hugging Face folder, which does not say"
    made.add_argument("--pooling", choices=get_args(Pooling), default="cls", help=pooling)
    revision = "of an id on the hub: commit, tag or branch"
    made.add_argument("--revision", type=text_or_null, help=revision)
    return made


def _margin(text: str) -> float:
    if not 0 <= (value := _float(text)) <= 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 2")
    return value


def _positive(text: str) -> float:
    if not 0 < (value := _float(text)) < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def _float(text: str) -> float:
    """NaN for what is no number, so that it lies in no range."""
    try:
        return float(text)
    except ValueError:
        return math.nan
