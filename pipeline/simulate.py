"""Stage: random angles -> what each objective's dissipation, weight and ratio do with them.

    python -m pipeline.simulate --params params.yaml --out results/simulation

Settings are params.yaml's `analysis.simulation`. Writes dissipation, hardest_share, ratio and
lemma, each as .json, .svg and .png. No data, no model. Equal settings give equal bytes.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path

from pipeline.config.load import load
from pipeline.config.schema import SimulationParams
from pipeline.machine.stage import parser, run_stage
from pipeline.objectives import Objective
from pipeline.paper import lemma
from pipeline.paper.figure import Figure, write_figures
from pipeline.paper.simulation.figures import dissipation_figure, ratio_figure, share_figure
from pipeline.paper.simulation.lemma_figure import lemma_figure
from pipeline.paper.simulation.numbers import at_means, hardest_share, mean_dissipation

# Random cases of Lemma 1's check, for each step length.
LEMMA_CASES = 200_000


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if the figures were written, 1 with one sentence if not."""
    options = parser("pipeline.simulate", __doc__)
    options.add_argument("--params", type=Path, required=True, help="params.yaml")
    options.add_argument("--out", type=Path, required=True, help="folder of the figures")
    return run_stage("simulate", _run, options.parse_args(argv))


def _run(options: argparse.Namespace) -> None:
    params = load(options.params)
    settings = params.analysis.simulation
    objectives = {name: params.objective(name) for name in settings.objectives}
    figures = simulate(objectives, settings)
    write_figures(options.out, figures)
    print(f"{', '.join(figure.name for figure in figures)} written to {options.out}.")


def simulate(objectives: Mapping[str, Objective], settings: SimulationParams) -> list[Figure]:
    """All four figures.

    Raises:
        ValueError: an objective cannot be simulated from angles.
    """
    # First, since it is quick and refuses what cannot be simulated.
    means = {name: at_means(name, objective, settings) for name, objective in objectives.items()}
    checks = [lemma.check(step, LEMMA_CASES, settings.seed) for step in settings.steps]
    return [
        dissipation_figure(mean_dissipation(objectives, settings), objectives, settings),
        share_figure(hardest_share(settings), settings),
        ratio_figure(means, objectives, settings),
        lemma_figure(checks, settings),
    ]


if __name__ == "__main__":
    raise SystemExit(main())
