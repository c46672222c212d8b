"""The report's numbers in rows: sweeps, ablation, conventions, and the paper's Tables 2 and 4."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.results.names import MODIFIED, STEPS
from pipeline.results.numbers import AVERAGE
from pipeline.results.spread import Spread, cell, spread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.config.schema import Params
    from pipeline.paper.held_out.schema import Sign
    from pipeline.paper.report.study import Scores, Study

BASELINE = "paradigm"  # whose hyperparameters are swept
LETTERS = {"margin": "m", "temperature": "t", "ratio": "r"}
DYNAMIC = ("arccon", "met")  # their ratio changes during training
# The names of `Scores`' readings.
READINGS = {"average": "STS average", "best": "dev, best step", "last": "dev, last step"}
PUBLISHED = Path(__file__).with_name("published.json")
# The paper's backbones and sentences, by the names that params.yaml has for them.
BACKBONES = {"bert-base-uncased": "bert-base", "roberta-base": "roberta-base"}
SENTENCES = "hf://datasets/princeton-nlp/datasets-for-simcse/wiki1m_for_simcse.txt"

Rows = list[list[str]]
Point = tuple[float, str]  # a value and the objective that has it
Scored = dict[str, dict[str, Spread]]  # by objective and task


def shown(spread: Spread | None, digits: int = 2) -> str:
    """A cell, or a dash where there is no number."""
    return "-" if spread is None else cell(spread, digits)


def sweeps(study: Study) -> dict[str, list[Point]]:
    """Of each hyperparameter, by its rising value: the baseline and what differs in it alone."""
    if BASELINE not in study.params.objectives:
        return {}
    usual = study.params.objective(BASELINE).hyperparameters.model_dump()
    by_key: dict[str, list[Point]] = {key: [] for key in LETTERS}
    for name in study.seeds:
        changed = study.changes(name)
        if study.params.kind(name) == BASELINE and len(changed) == 1 and study.scores[name].best:
            key, value = changed.popitem()
            by_key.get(key, []).append((value, name))
    for key, points in by_key.items():
        if points and BASELINE in study.seeds and study.scores[BASELINE].best:
            points.append((usual[key], BASELINE))
    return {key: sorted(points) for key, points in by_key.items() if points}


def sweep_rows(study: Study) -> Rows:
    """A value a line."""
    return [
        [f"{key} {LETTERS[key]}", f"{value:g}", *_scores(study, name)]
        for key, points in sweeps(study).items()
        for value, name in points
    ]


def ablation(study: Study) -> dict[str, dict[str, str]]:
    """The steps that were run of each original that was run with a later step."""
    by_original = {
        original: {
            step: original + ending
            for ending, step in STEPS.items()
            if original + ending in study.seeds
        }
        for original in MODIFIED
    }
    return {
        name: steps for name, steps in by_original.items() if "original" in steps and len(steps) > 1
    }


def ablation_rows(study: Study) -> Rows:
    """An original and a reading a line, a step a column; none if nothing was run."""
    rows = []
    for original, steps in ablation(study).items():
        seeds = str(min(len(study.seeds[name]) for name in steps.values()))
        for reading, label in READINGS.items():
            spreads = [
                getattr(study.scores[steps[step]], reading) if step in steps else None
                for step in STEPS.values()
            ]
            if any(spreads):
                rows.append([f"`{original}`", label, seeds, *map(shown, spreads)])
    return rows


def least_ratios(study: Study) -> dict[str, float]:
    """The least recorded mean ratio of each objective whose ratio changes."""
    rows = {
        name: [row["ratio"] for seed in study.dynamics[name].values() for row in seed]
        for name in DYNAMIC
        if name in study.dynamics
    }
    return {name: float(np.nanmin(ratios)) for name, ratios in rows.items()}


def visited_shares(simulated: Mapping[str, Any]) -> dict[str, float]:
    """Of the simulation's points that training visits, the share with a ratio from 1 to 2."""
    shares = {}
    for name, grid in simulated["ratio"].items():
        visited = ~np.array(simulated["unvisited"][name], dtype=bool)  # written as 0 and 1
        ratios = np.array(grid, dtype=np.float64)[visited]
        shares[name] = float(((ratios >= 1) & (ratios <= 2)).mean())
    return shares


def angle_deviations(study: Study) -> dict[str, Spread] | None:
    """The baseline's angles to positives and negatives: deviation over pairs, in radians."""
    measures = study.held_out.get(BASELINE)
    if not measures:
        return None
    signs: tuple[Sign, ...] = ("positive", "negative")
    return {
        sign: spread([measurement.angles[sign].deviation for measurement in measures.values()])
        for sign in signs
    }


def convention_rows(study: Study) -> Rows:
    """Variants that differ in more than a number, each with its difference from what it varies."""
    by_base: dict[str, Rows] = {}
    for name in study.seeds:
        base, changes = study.params.kind(name), study.changes(name)
        is_scored = base in study.seeds and study.scores[base].best and study.scores[name].best
        if is_scored and not changes.keys() <= LETTERS.keys():
            settings = ", ".join(f"{key}: {value}" for key, value in changes.items())
            first = [f"`{base}`", "nothing", *_scores(study, base)]
            variant = [f"`{name}`", settings, *_scores(study, name, study.scores[base])]
            by_base.setdefault(base, [first]).append(variant)
    return [row for rows in by_base.values() for row in rows]


def _scores(study: Study, name: str, usual: Scores | None = None) -> list[str]:
    """How many seeds, and the three readings; in brackets the difference from usual ones."""
    own = study.scores[name]
    cells = []
    for reading in ("best", "last", "average"):
        spread, other = getattr(own, reading), getattr(usual, reading, None)
        difference = f" ({spread.mean - other.mean:+.2f})" if spread and other else ""
        cells.append(shown(spread) + difference)
    return [str(len(study.seeds[name])), *cells]


def published(params: Params, comparison: Mapping[str, Any], half: str) -> Scored | None:
    """The paper's scores of `sts` or `transfer`, or None where ours are no match for them.

    They are where backbone, sentences and test data are the paper's.
    """
    backbone = BACKBONES.get(params.backbone.source)
    comparable = comparison if half == "sts" else comparison.get("transfer", {})
    if backbone is None or params.corpus.source != SENTENCES:
        return None
    if not comparable.get("comparable_to_published"):
        return None
    tables: dict[str, Any] = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    return {
        name: {
            task: Spread(score, None) for task, score in row["scores"].items() if score is not None
        }
        for name, row in tables[half][backbone].items()
    }


def ours(comparison: Mapping[str, Any], half: str) -> Scored:
    """Our scores, as `compare` wrote them; none of a half that did not run."""
    table = comparison if half == "sts" else comparison.get("transfer", {})
    return {
        name: {task: Spread(**score) for task, score in row["scores"].items()}
        for name, row in table.get("objectives", {}).items()
    }


def published_tables(
    params: Params, comparison: Mapping[str, Any]
) -> list[tuple[str, list[str], Rows]]:
    """Of each half that compares, name, tasks and rows: an objective's, below it the paper's."""
    tables = []
    for half, title in (("sts", "STS"), ("transfer", "transfer")):
        own, paper = ours(comparison, half), published(params, comparison, half)
        if own and paper:
            rows = []
            for name, scores in own.items():
                rows.append([f"`{name}`", *map(cell, scores.values())])
                if name in paper:
                    rows.append(["*published*", *(shown(paper[name].get(task)) for task in scores)])
            tables.append((title, [*next(iter(own.values()))], rows))
    return tables


def before_and_after(own: Scored) -> dict[str, tuple[Spread, Spread]]:
    """Averages of original and modified form, of the families that have both."""
    return {
        original: (own[original][AVERAGE], own[modified][AVERAGE])
        for original, modified in MODIFIED.items()
        if original in own and modified in own
    }
