"""Stage: simulation, study and main runs -> the report, as Markdown and as one HTML page.

    python -m pipeline.report --params params.yaml --simulation results/analysis/simulation
        --study results/analysis/study --results results --out results/analysis

Figures of the study are drawn here, into `<out>/figures`; those of the simulation stay where they
are.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

from pipeline.config import load as config
from pipeline.machine.errors import InputError
from pipeline.machine.files import write_together
from pipeline.machine.stage import parser, run_stage
from pipeline.paper.figure import write_figures
from pipeline.paper.report import tables
from pipeline.paper.report.conjectures import conjectures
from pipeline.paper.report.figures import study_figures
from pipeline.paper.report.page import as_page
from pipeline.paper.report.study import read_study
from pipeline.paper.text import words
from pipeline.results.layout import markdown_table
from pipeline.results.names import STEPS
from pipeline.results.spread import SPREAD


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if the report was written, 1 with one sentence if not."""
    options = parser("pipeline.report", __doc__)
    options.add_argument("--params", type=Path, required=True, help="params.yaml")
    options.add_argument("--simulation", type=Path, required=True, help="folder of the simulation")
    options.add_argument("--study", type=Path, required=True, help="folder of the study's runs")
    options.add_argument("--results", type=Path, required=True, help="folder of comparison.json")
    options.add_argument("--out", type=Path, required=True, help="folder of the report")
    return run_stage("report", _run, options.parse_args(argv))


def _run(options: argparse.Namespace) -> None:
    out: Path = options.out
    study = read_study(config.load(options.params), options.study)
    comparison = _json(options.results / "comparison.json")
    pictures = list(study_figures(study, comparison))
    write_figures(out / "figures", pictures)
    figures: dict[str, Any] = {
        f"figures/{figure.name}": {
            "title": figure.title,
            "caption": figure.caption,
            "path": f"figures/{figure.name}.svg",
        }
        for figure in pictures
    }
    for path in sorted(options.simulation.glob("*.json")):
        picture = os.path.relpath(path.with_suffix(".svg"), out)
        figures[f"simulation/{path.stem}"] = _json(path) | {"path": picture}
    markdown = words(
        "report",
        study=study,
        baseline=tables.BASELINE,
        figures=figures,
        conjectures=conjectures(study),
        least_ratios=tables.least_ratios(study),
        visited=tables.visited_shares(_json(options.simulation / "ratio.json")["data"]),
        deviations=tables.angle_deviations(study),
        sweeps=tables.sweep_rows(study),
        ablation=tables.ablation_rows(study),
        steps=list(STEPS.values()),
        conventions=tables.convention_rows(study),
        comparison=(options.results / "comparison.md").read_text(encoding="utf-8").strip(),
        published=tables.published_tables(study.params, comparison),
        table=markdown_table,
        over_seeds=SPREAD,
    )
    text = f"{markdown}\n"
    page = as_page(text, out)
    write_together({out / "report.md": text.encode(), out / "report.html": page.encode()})
    print(f"{out / 'report.html'}: open it in a browser; {out / 'report.md'} is the same as text.")


def _json(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"report: {path} cannot be read ({error}); `make report` makes it again."
        ) from None
    return content


if __name__ == "__main__":
    raise SystemExit(main())
