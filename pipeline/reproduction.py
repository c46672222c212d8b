"""Stage: the cells of a reproduction -> its tables and its curves.

    python -m pipeline.reproduction --runs results/wiki/runs --rate 3.0e-4 --out results/wiki

Where the cells lie stands in `pipeline.results.reproduction`; `pipeline.cell` runs one.
Writes reproduction.md, reproduction.json, curves.svg and curves.png. Equal inputs give equal bytes.
"""

import argparse
from pathlib import Path

from pipeline.machine.files import write_together
from pipeline.machine.stage import parser, run_stage, whole_number
from pipeline.results.curves import draw
from pipeline.results.figures import FORMATS, image
from pipeline.results.layout import json_bytes
from pipeline.results.reproduction import as_numbers, as_text, read
from pipeline.results.runs import untrained_dev


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if the tables were written, 1 with one sentence if not."""
    options = parser("pipeline.reproduction", __doc__)
    add = options.add_argument
    add("--runs", type=Path, required=True, help="folder of the cells")
    add("--rate", required=True, help="learning rate of the main tables, as its folder is named")
    add("--baseline", default="info_nce", help="objective that every other one is compared with")
    add("--resamples", type=whole_number(1), default=2000, help="of the bootstrap")
    add("--bootstrap-seed", type=whole_number(0), default=1, help="of the bootstrap")
    add("--out", type=Path, required=True, help="folder of the tables and pictures")
    return run_stage("reproduction", _run, options.parse_args(argv))


def _run(options: argparse.Namespace) -> None:
    bootstrap = {"resamples": options.resamples, "seed": options.bootstrap_seed}
    cells = read(options.runs, options.rate, options.baseline, bootstrap)
    figure, text = draw(cells.curves, untrained_dev(cells.last)), as_text(cells)
    contents = {
        "reproduction.md": text.encode(),
        "reproduction.json": json_bytes(as_numbers(cells)),
        **{f"curves.{kind}": image(figure, kind) for kind in FORMATS},
    }
    write_together({options.out / name: content for name, content in contents.items()})
    print(text, end="")


if __name__ == "__main__":
    raise SystemExit(main())
