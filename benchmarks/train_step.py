"""How fast a training step is, beside plain loops and the sentence-transformers trainer.

    python -m benchmarks.train_step --overheads --out FILE.json --markdown FILE.md

Contestants train one model with InfoNCE (temperature 0.05) on the same batches of sentences, two
views each: `ours`, the step of `pipeline.train`; `eager-*`, the same model in a plain loop in fp32,
TF32 or under bf16 autocast; `compile-*`, that loop under torch.compile alone, in its default mode;
`trainer-*`, SentenceTransformerTrainer with MultipleNegativesRankingLoss on the same sentences as
text, in its default precision (fp32) or bf16. The trainer's time includes tokenizing and its work
on the host, since who uses it pays for that; it needs sentence-transformers, datasets and
accelerate. What a device or an environment lacks is left out, and the report says why.

Sizes: `embedded`, the backbone of this repository, and `bert-base`, BERT base's shape with random
weights and the embedded backbone's tokenizer. By default a GPU runs both with batches of 128, 3
rounds of 20 steps; a CPU runs `embedded` with batches of 64, 3 rounds of 4 steps.

All run in one process and take turns, in another order each round; first steps are not counted,
compiling is reported apart. "ours faster" is a peer's time to ours of the same round, above 1
where ours is faster. Shares of the peak are of the fastest product of large square matrices
measured in the same run, in bf16 (fp32 where the device has none); how operations are counted:
benchmarks/train_peers/arithmetic.py. Peak memory is PyTorch's, of each contestant's first steps.

`--overheads` adds what each objective and recording its components take of a step of 512
sentences. Times mean nothing beside those of another run or machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from benchmarks.train_peers import tables
from benchmarks.train_peers.contestants import PEERS
from benchmarks.train_peers.run import Run
from benchmarks.train_peers.sizes import SIZES
from pipeline.machine.files import check_writable
from pipeline.machine.settings import unknown
from pipeline.machine.stage import run_stage
from pipeline.objectives import OBJECTIVES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def _measure(options: argparse.Namespace) -> None:
    for name in ("out", "markdown"):
        if path := getattr(options, name):
            check_writable(f"--{name}", path)
    with tempfile.TemporaryDirectory() as name:
        run = Run(options, Path(name))
        run.run()
    Console(width=150).print(*tables.report(run.result), sep="\n")


def main(argv: list[str] | None = None) -> int:
    """Command line; 0, or 1 with one sentence for what can be explained."""
    options = _parser().parse_args(argv)
    return run_stage("train_step", _measure, options, "sizes that were done are written.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.train_step", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("--device", choices=["auto", "cpu", "cuda"], default="auto", help="auto: CUDA if there")
    add("--sizes", type=_names("size", SIZES), help=f"some of {','.join(SIZES)}")
    add("--peers", type=_names("peer", PEERS), help=f"some of {','.join(PEERS)}")
    add("--prepared", type=Path, help="folder of pipeline.prepare; else the sample's corpus")
    add("--batch-size", type=_count(2), help="sentences a step")
    add("--steps", type=_count(1), help="timed steps of each contestant in a round")
    add("--rounds", type=_count(1), default=3)
    add("--overheads", action="store_true", help="time the objectives' and recording's shares, too")
    add(
        "--objectives",
        type=_names("objective", OBJECTIVES),
        default=list(OBJECTIVES),
        help="for --overheads; all by default",
    )
    add("--out", type=Path, help="JSON file of all figures of all rounds")
    add("--markdown", type=Path, help="file of the same tables")
    return parser


def _names(what: str, known: Iterable[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in known:
                # argparse names the option itself.
                raise argparse.ArgumentTypeError(unknown(what, name, known))
        return names

    return parse


def _count(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            count = int(text)
        except ValueError:
            count = least - 1
        if count < least:
            raise argparse.ArgumentTypeError(f"{text!r} is out of range; give {least} or more")
        return count

    return parse


if __name__ == "__main__":
    sys.exit(main())
