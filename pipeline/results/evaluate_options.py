"""The command line of the evaluation stage."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from pipeline.senteval.classifier import SETTINGS, ClassifierName


def parser(description: str | None) -> argparse.ArgumentParser:
    """All options of `python -m pipeline.evaluate`."""
    made = argparse.ArgumentParser(prog="python -m pipeline.evaluate", description=description)
    made.formatter_class = argparse.RawDescriptionHelpFormatter
    made.add_argument("--encoder", type=Path, required=True, help="folder of the encoder")
    made.add_argument("--data", type=Path, required=True, help="SentEval's downstream folder")
    tasks = "sts, transfer and names such as STS12,MR, with commas between"
    made.add_argument("--tasks", default="sts", help=tasks)
    setting = "of the transfer tasks: test (the default), as papers report, or fast"
    made.add_argument("--setting", choices=tuple(SETTINGS), default="test", help=setting)
    classifier = "likewise: mlp (the default), as papers report, or scikit-learn's logistic"
    made.add_argument(
        "--classifier", choices=get_args(ClassifierName), default="mlp", help=classifier
    )
    made.add_argument("--out", type=Path, required=True, help="JSON file of the metrics")
    made.add_argument("--scores", type=Path, help=".npz file of all cosines and gold scores")
    made.add_argument("--batch-size", type=_positive, default=64, help="sentences at a time")
    made.add_argument("--device", default="auto", help="auto, cpu, cuda, ...")
    pooling = "for a Hugging Face folder, which does not say"
    made.add_argument("--pooling", choices=("cls", "mean", "max"), default="cls", help=pooling)
    return made


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)
