"""Stage: random angles -> what each objective's dissipation, weight and ratio do with them.

    python -m pipeline.simulate --params params.yaml --out results/simulation

Settings are params.yaml's `analysis.simulation`. Writes dissipation, hardest_share, ratio and
lemma, each as .json, .svg and .png. No data, no model. Equal settings give equal bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.config.load import load
from pipeline.machine.stage import parser, run_stage
from pipeline.paper import lemma
from pipeline.paper.figure import write_exhibits
from pipeline.paper.simulation.figures import (
    dissipation_exhibit,
    ratio_exhibit,
    share_exhibit,
)
from pipeline.paper.simulation.lemma_figure import lemma_exhibit
from pipeline.paper.simulation.numbers import at_means, hardest_share, mean_dissipation

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from pipeline.config.schema import SimulationParams
    from pipeline.objectives import Objective
    from pipeline.paper.figure import Exhibit

EXHIBITS = ("dissipation", "hardest_share", "ratio", "lemma")
# Random cases of Lemma 1's check, for each step length.
LEMMA_CASES = 200_000


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if the figures were written, 1 with one sentence if not."""
    return run_stage("simulate", _run, _parser().parse_args(argv))


def _run(options: argparse.Namespace) -> None:
    out: Path = options.out
    params = load(options.params)
    settings = params.analysis.simulation
    objectives = {name: params.objective(name) for name in settings.objectives}
    write_exhibits(out, simulate(objectives, settings))
    print(f"{', '.join(EXHIBITS)} written to {out}.")


def simulate(objectives: Mapping[str, Objective], settings: SimulationParams) -> list[Exhibit]:
    """All four exhibits.

    Raises:
        ValueError: an objective cannot be simulated from angles.
    """
    # First, since it is quick and refuses what cannot be simulated.
    means = {name: at_means(name, one, settings) for name, one in objectives.items()}
    checks = [lemma.check(step, LEMMA_CASES, settings.seed) for step in settings.steps]
    return [
        dissipation_exhibit(mean_dissipation(objectives, settings), objectives, settings),
        share_exhibit(hardest_share(settings), settings),
        ratio_exhibit(means, objectives, settings),
        lemma_exhibit(checks, settings),
    ]


def _parser() -> argparse.ArgumentParser:
    options = parser("pipeline.simulate", __doc__)
    options.add_argument("--params", type=Path, required=True, help="params.yaml")
    options.add_argument("--out", type=Path, required=True, help="folder of the figures")
    return options


if __name__ == "__main__":
    raise SystemExit(main())
