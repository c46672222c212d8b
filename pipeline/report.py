"""Stage: simulation, study and main runs -> the report, as Markdown and as one HTML page.

    python -m pipeline.report --params params.yaml --simulation results/analysis/simulation
        --study results/analysis/study --results results --out results/analysis

Figures of the study are drawn here, into `<out>/figures`; those of the simulation stay where they
are.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.config import load as config
from pipeline.machine.errors import InputError
from pipeline.machine.files import write_together
from pipeline.machine.stage import parser, run_stage
from pipeline.paper.figure import write_exhibits
from pipeline.paper.report.exhibits import study_exhibits
from pipeline.paper.report.page import as_page
from pipeline.paper.report.study import read_study
from pipeline.paper.report.text import TITLE, Figure, Material, as_markdown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if the report was written, 1 with one sentence if not."""
    return run_stage("report", _run, _parser().parse_args(argv))


def _run(options: argparse.Namespace) -> None:
    out: Path = options.out
    text, page = out / "report.md", out / "report.html"
    study = read_study(config.load(options.params), options.study)
    comparison = _json(options.results / "comparison.json")
    drawn = list(study_exhibits(study, comparison))
    write_exhibits(out / "figures", drawn)
    figures = dict(_simulated(out, options.simulation)) | {
        f"figures/{one.name}": Figure(f"figures/{one.name}.svg", one.title, one.caption)
        for one in drawn
    }
    table = (options.results / "comparison.md").read_text(encoding="utf-8")
    markdown = as_markdown(Material(study, comparison, table, figures))
    html = as_page(markdown, TITLE, out)
    write_together({text: markdown.encode(), page: html.encode()})
    print(f"{page}: open it in a browser; {text} is the same as text.")


def _simulated(out: Path, folder: Path) -> Iterator[tuple[str, Figure]]:
    """The simulation's exhibits by name."""
    for path in sorted(folder.glob("*.json")):
        words = _json(path)
        picture = os.path.relpath(path.with_suffix(".svg"), out)
        yield f"simulation/{path.stem}", Figure(picture, words["title"], words["caption"])


def _json(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"report: {path} cannot be read ({error}); `make report` makes it again."
        ) from None
    return content


def _parser() -> argparse.ArgumentParser:
    options = parser("pipeline.report", __doc__)
    options.add_argument("--params", type=Path, required=True, help="params.yaml")
    options.add_argument("--simulation", type=Path, required=True, help="folder of the simulation")
    options.add_argument("--study", type=Path, required=True, help="folder of the study's runs")
    options.add_argument("--results", type=Path, required=True, help="folder of comparison.json")
    options.add_argument("--out", type=Path, required=True, help="folder of the report")
    return options


if __name__ == "__main__":
    raise SystemExit(main())
