"""The command line of embedding."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from pipeline.encoder.folder import Pooling
from pipeline.machine.stage import parser as stage_parser
from pipeline.machine.stage import whole_number


def parser(description: str | None) -> argparse.ArgumentParser:
    """All options of `python -m pipeline.embed`."""
    made = stage_parser("pipeline.embed", description)
    read = ".txt, .txt.gz or .txt.xz, a sentence a line; .parquet, or a folder of such files"
    made.add_argument("input", metavar="INPUT", type=Path, help=read)
    made.add_argument("output", metavar="OUTPUT", type=Path, help=".npy or .parquet file")
    made.add_argument("--encoder", type=Path, required=True, help="folder of the encoder")
    column = "the sentences' column in Parquet, read or written (default: text)"
    made.add_argument("--column", default="text", help=column)
    made.add_argument("--batch-size", type=whole_number(1), default=64, help="sentences at a time")
    chunk = "sentences held in memory and finished together (default: 8192)"
    made.add_argument("--chunk", type=whole_number(1), default=8192, help=chunk)
    made.add_argument("--device", default="auto", help="auto, cpu, cuda, ...")
    pooling = "for a Hugging Face folder, which does not say"
    made.add_argument("--pooling", choices=get_args(Pooling), default="cls", help=pooling)
    dtype = "of the embeddings that are written (default: float32)"
    made.add_argument("--dtype", choices=("float32", "float16"), default="float32", help=dtype)
    normalise = "scale embeddings to length one, also where the encoder does not"
    made.add_argument("--normalise", action="store_true", help=normalise)
    _add_ray(made.add_argument_group("several machines"))
    return made


def _add_ray(group: argparse._ArgumentGroup) -> None:
    ray = "a Ray cluster: local (started here), auto (the one of this machine) or HOST:PORT"
    group.add_argument("--ray", metavar="ADDRESS", help=ray)
    workers = "processes that embed (default: as many as GPUs, or else CPUs, allow)"
    group.add_argument("--workers", type=whole_number(1), help=workers)
    gpus = "share of a GPU for each (default: 1 where the cluster has GPUs, else 0)"
    group.add_argument("--gpus-per-worker", type=_share, metavar="SHARE", help=gpus)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to 1")
    return share
