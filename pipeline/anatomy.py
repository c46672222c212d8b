"""Command: any loss of two views -> what its gradient does, beside the paper's three components.

    python -m pipeline.anatomy info_nce siglip
    python -m pipeline.anatomy pytorch_metric_learning.losses:CircleLoss,m=0.25,gamma=256 --out xray

Without a name, all losses of docs/anatomy.md are taken apart. A table is printed; --out writes
each loss's numbers as JSON and three pictures: dissipation, hardest share and ratio over angles.
"""

import argparse
from pathlib import Path

import torch

from pipeline.data.sentences import read
from pipeline.encoder.encoder import SentenceEncoder
from pipeline.machine.errors import InputError
from pipeline.machine.files import write_together
from pipeline.machine.stage import parser, run_stage
from pipeline.results.layout import rounded
from pipeline.xray.catalogue import CATALOGUE, find
from pipeline.xray.sweep import COUNT, STAGES, Batch, examine
from pipeline.xray.tables import content, table

SAMPLE = "data/sample/wiki.txt.xz"
DRAWS = "draws pictures; install what it needs with: pip install 'triad-encoders[pipeline]'"


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if the losses were taken apart, 1 with one sentence if not."""
    return run_stage("anatomy", _run, _parser().parse_args(argv))


def _parser() -> argparse.ArgumentParser:
    options = parser("pipeline.anatomy", __doc__)
    name = "of docs/anatomy.md, an objective of Triad's, or module:Class,key=value,..."
    options.add_argument("names", nargs="*", metavar="NAME", help=name)
    options.add_argument("--out", type=Path, help="folder of the numbers and pictures")
    beside = "measure on this encoder's own embeddings of 64 sentences, too; may be given again"
    options.add_argument("--encoder", action="append", default=[], metavar="FOLDER", help=beside)
    options.add_argument("--sentences", default=SAMPLE, help="file that those are taken from")
    return options


def _run(options: argparse.Namespace) -> None:
    entries = dict(find(name) for name in options.names or CATALOGUE)
    losses = {name: entry.made() for name, entry in entries.items()}
    batches = {folder: dropout_batch(folder, options.sentences) for folder in options.encoder}
    examined = [examine(name, loss, batches) for name, loss in losses.items()]
    print(table(examined, entries))
    for result in examined:
        for where in batches:
            measure = result.measures[where]
            print(
                f"{result.name} on {where}: dissipation {measure.dissipation:.3g}, hardest share "
                f"{measure.hardest:.3g} times equal, ratio {measure.ratio:.3g}"
            )
    if options.out is None:
        return
    try:
        from pipeline.paper.figure import as_json, write_figures  # noqa: PLC0415
        from pipeline.xray.figures import figures  # noqa: PLC0415
    except ImportError as error:
        raise InputError(f"--out: {DRAWS} ({error}).") from error
    write_together(
        {
            options.out / f"{result.name}.json": as_json(
                rounded(content(result, entries[result.name]))
            )
            for result in examined
        }
    )
    for name, loss in losses.items():
        write_figures(options.out, figures(name, loss))
    print(f"{len(losses)} losses over {len(STAGES) + len(batches)} batches; see {options.out}.")


def dropout_batch(folder: str, corpus: str) -> Batch:
    """An encoder's embeddings of the corpus's first sentences, under two dropout masks.

    Raises:
        InputError: there are too few sentences, or the encoder cannot be read.
    """
    sentences = list(read(corpus, revision=None, column="text").sentences[:COUNT])
    if len(sentences) < COUNT:
        raise InputError(f"--sentences: {corpus} has fewer than {COUNT} sentences.")
    encoder = SentenceEncoder.load(folder, "cpu")
    encoder.model.train()
    torch.manual_seed(0)
    first, second = (torch.from_numpy(encoder.encode(sentences)).double() for _ in range(2))
    return first, second


if __name__ == "__main__":
    raise SystemExit(main())
