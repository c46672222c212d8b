"""Stage: params.yaml -> a mark that no stage will refuse its settings.

    python -m pipeline.check --params params.yaml --out data/checked

DVC deletes a stage's outputs when it starts, those in git too. This stage comes before all others
and looks at what they look at first, so that a wrong setting costs no file.
"""

import argparse
import shlex
import shutil
from pathlib import Path

from pipeline.config import load as config
from pipeline.config.schema import Params
from pipeline.data.sentences import choose_held_out
from pipeline.data.sentences import read as read_corpus
from pipeline.data.tokenizing import load_tokenizer
from pipeline.machine.device import resolve, taken_precision
from pipeline.machine.errors import InputError
from pipeline.machine.files import write_atomically
from pipeline.machine.stage import parser, run_stage
from pipeline.senteval.graded_pairs import read_dev, without
from pipeline.senteval.tasks import read as read_tasks
from pipeline.training.captured import check_captures
from pipeline.training.compilation import compiles
from pipeline.training.network import build
from pipeline.training.processes import ALONE
from pipeline.training.tracking import check_installed


def check(params: Params) -> None:
    """Take each stage's first look at what the settings name.

    Raises:
        InputError: something is not there, or does not suit the rest.
    """
    launcher = shlex.split(params.train.launcher)
    if not launcher or shutil.which(launcher[0]) is None:
        raise InputError(
            f"train.launcher: {params.train.launcher!r} is no program here; give python or "
            "torchrun with its options."
        )
    data = Path(params.evaluate.data)
    tasks, dev = read_tasks(data, params.evaluate.tasks), read_dev(Path(params.train.dev))
    if params.train.keep == "best" and data.is_file():
        without(tasks.sts[0].subsets, dev, data)
    for name in params.runs.objectives:
        params.objective(name)
    runs = dict.fromkeys(params.train_for(name) for name in params.runs.objectives)
    for settings in runs:
        device = resolve(settings.device)
        taken_precision(settings.precision, device)
        compiles(settings.compile, device)
        if settings.capture:
            check_captures(settings, device, ALONE)
        check_installed(settings.track)
        build(params.backbone, settings, device)
    backbone = params.backbone
    load_tokenizer(backbone.source, params.train.max_length, backbone.revision)
    corpus = params.corpus
    text = read_corpus(corpus.source, revision=corpus.revision, column=corpus.column)
    batch = max(settings.batch_size for settings in runs)
    choose_held_out(len(text.sentences), corpus.held_out, corpus.seed, batch)


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if the settings can be used, 1 with one sentence if not."""
    options = parser("pipeline.check", __doc__)
    options.add_argument("--params", type=Path, required=True, help="params.yaml")
    options.add_argument("--out", type=Path, required=True, help="a file that says so")
    return run_stage("check", _run, options.parse_args(argv))


def _run(options: argparse.Namespace) -> None:
    check(config.load(options.params))
    write_atomically(options.out, b"params.yaml can be used\n")


if __name__ == "__main__":
    raise SystemExit(main())
