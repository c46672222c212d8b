"""The tables of a reproduction: many objectives, several seeds, several learning rates.

Cells lie below one folder, by learning rate, reading, objective and seed:

    <rate>/metrics/<objective>/<seed>.json   of the last step's encoder
    <rate>/best/<objective>/<seed>.json      of the step with the best dev score
    <rate>/transfer/<objective>/<seed>.json  of the last step, on the transfer tasks
    <rate>/scores, curves, records           cosines of the last step; curves; what was run

and the backbone's in the first three as `untrained.json` and `untrained_mean.json`. The folder of
a rate is a study that `pipeline.report` reads, too.
"""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.machine.errors import InputError
from pipeline.results.curves import Curves, read_curves
from pipeline.results.layout import markdown_table, rounded
from pipeline.results.names import BACKBONES, CONTRASTIVE, MODIFIED, REPAIRED, STEPS, UNTRAINED
from pipeline.results.numbers import (
    AVERAGE,
    Difference,
    Row,
    dev_scores,
    differences,
    gains,
    in_order,
    row,
    rows,
)
from pipeline.results.runs import Runs, read_runs
from pipeline.results.spread import SPREAD, Spread, cell
from pipeline.results.tables import as_json, as_markdown, floor_line, scores_table

COMPARED = (*CONTRASTIVE, *(name for pair in MODIFIED.items() for name in pair))
READINGS = {"last": "metrics", "best": "best"}  # and where their metrics lie

_SUMMARY = f"""\
Average of the STS tasks, Spearman x 100; {SPREAD}. The last step needs no labels. The best step has
the highest dev score: labels chose it."""
_BEST = f"""\
The encoder of the step with the highest dev score. Labels chose it: the dev pairs are STS-B's.
Spearman's correlation x 100; {SPREAD}."""
_ABLATION = f"""\
One component after the other is exchanged. Average of the STS tasks at the last and at the best
step, over the seeds that all steps have; {SPREAD}."""
_REPAIRED = f"""\
Losses of others, as they are and repaired: each keeps its own weight, and gets a gate as
dissipation and a fixed ratio. Average of the STS tasks; {SPREAD}."""
_RATES = f"""\
Average of the STS tasks at the last step and, in brackets, at the best step; {SPREAD}. **Bold**:
the learning rate with the highest dev score at the last step."""


@dataclass(frozen=True)
class Reproduction:
    """What was run.

    Attributes:
        folder: where the cells lie.
        rate: the learning rate of the main tables, as its folder is named.
        baseline: the objective that every other one is compared with.
        last: runs of the main rate, read at the last step; with the backbone's.
        best: likewise at the best step.
        transfer: likewise at the last step, on the transfer tasks; empty where none was measured.
        curves: of the runs of the main tables.
        compared: differences at the last step.
        bootstrap: `resamples` and `seed` of their intervals.
    """

    folder: Path
    rate: str
    baseline: str
    last: Runs
    best: Runs
    transfer: Runs
    curves: Curves
    compared: list[Difference]
    bootstrap: dict[str, int]


def read(folder: Path, rate: str, baseline: str, bootstrap: dict[str, int]) -> Reproduction:
    """Reads the cells of the main tables and compares them.

    Raises:
        InputError: there is no cell, or cells were measured differently.
    """
    main = folder / rate
    last, best, transfer = (_read(main / name) for name in (*READINGS.values(), "transfer"))
    encoders = [(name, run.seed) for name in last for run in last[name] if run.seed is not None]
    if not encoders:
        rates = ", ".join(_rate_names(folder)) or "none"
        raise InputError(
            f"--runs: {folder} holds no cell of rate {rate}; there are cells of: {rates}."
        )
    for name, seed in encoders:
        if seed not in [run.seed for run in best.get(name, [])]:
            raise InputError(
                f"--runs: cell {name}-{seed} of rate {rate} is not complete, as its best step was "
                "not measured; the same pipeline.cell command resumes it."
            )
    return Reproduction(
        folder=folder,
        rate=rate,
        baseline=baseline,
        last=last,
        best={name: last[name] for name in BACKBONES if name in last} | best,
        transfer=transfer,
        curves=read_curves(main / "curves", encoders),
        compared=differences(last, main / "scores", baseline, **bootstrap),
        bootstrap=bootstrap,
    )


def _rate_names(folder: Path) -> list[str]:
    return sorted((path.name for path in folder.glob("*e-*")), key=float)


def _read(folder: Path) -> Runs:
    names = [name for name in COMPARED if (folder / name).is_dir()]
    return in_order(read_runs(folder, names)) if names else {}


def as_text(study: Reproduction) -> str:
    """All tables, each below its caption."""
    last, best = rows(study.last, "sts"), rows(study.best, "sts")
    blocks = [
        "# Reproduction",
        _SUMMARY,
        _summary(last, best, MODIFIED, "modified - original"),
        "## Last step",
        as_markdown(study.last, study.curves, study.compared, study.bootstrap),
        "## Best step",
        _BEST,
        scores_table(best),
        *floor_line(best),
    ]
    if study.transfer:
        blocks += ["## Transfer, last step", as_markdown(study.transfer, {}, [], study.bootstrap)]
    if ablation := _ablation(study.folder / study.rate):
        blocks += ["## Ablation", _ABLATION, ablation]
    if repaired := _repaired(study):
        blocks += ["## Repaired losses", _REPAIRED, repaired]
    rates = _rate_names(study.folder)
    if len(rates) > 1:
        blocks += ["## Learning rates", _RATES, _rates(study.folder, rates)]
    blocks += ["## Cells", _cells(study.folder)]
    return "\n\n".join(block.strip() for block in blocks) + "\n"


def as_numbers(study: Reproduction) -> dict[str, Any]:
    """The main tables' numbers: `last` as `compare` writes them, `best` and `transfer` averages."""
    best, transfer = rows(study.best, "sts"), rows(study.transfer, "transfer")
    return {
        "rate": study.rate,
        "last": as_json(study.last, study.curves, study.compared, study.bootstrap),
        "best": rounded({name: asdict(scores) for name, scores in best.items()}),
        "transfer": rounded({name: asdict(scores) for name, scores in transfer.items()}),
    }


def _summary(
    last: Mapping[str, Row], best: Mapping[str, Row], pairs: Mapping[str, str], label: str
) -> str:
    """An objective a line; below the second one of each pair its gain on the first."""
    gain_last, gain_best = gains(last, pairs), gains(best, pairs)
    lines = [["objective", "seeds", "last step", "best step"]]
    for name, own in last.items():
        seeds = f"n = {len(own.seeds)}" if own.seeds else "-"
        lines.append([f"`{name}`", seeds, *(cell(by[name].scores[AVERAGE]) for by in (last, best))])
        if name in gain_last:
            both = (by[name][AVERAGE] for by in (gain_last, gain_best))
            lines.append([f"*{label}*", "", *(f"*{gain:+.2f}*" for gain in both)])
    return markdown_table(lines, left=1)


def _average(
    folder: Path, reading: str, objective: str, seeds: Sequence[int] | None = None
) -> Spread | None:
    place = folder / READINGS[reading]
    if not (place / objective).is_dir():
        return None
    return row(read_runs(place, [objective], seeds)[objective], "sts").scores[AVERAGE]


def _ablation(folder: Path) -> str:
    """An original and a reading a line, a step a column; nothing if no step between was run.

    All steps of an original are of the same seeds: those that each of them has.
    """
    lines = [["original", "reading", "seeds", *STEPS.values()]]
    for original in MODIFIED:
        names = [original + ending for ending in STEPS]
        seeds = [
            {int(file.stem) for file in (folder / "metrics" / name).glob("*.json")}
            for name in names
        ]
        if not any(seeds[1:-1]):
            continue
        if shared := sorted(set.intersection(*filter(None, seeds))):
            for reading in READINGS:
                averages = [_average(folder, reading, name, shared) for name in names]
                cells = ["-" if average is None else cell(average) for average in averages]
                lines.append([f"`{original}`", reading, ", ".join(map(str, shared)), *cells])
    return markdown_table(lines, left=3) if len(lines) > 1 else ""


def _repaired(study: Reproduction) -> str:
    """Losses that ran as they are and repaired, below the backbone and the baseline; or nothing."""
    places = {reading: study.folder / study.rate / name for reading, name in READINGS.items()}
    pairs = {
        path.name.removesuffix(REPAIRED): path.name
        for path in sorted(places["best"].glob(f"*{REPAIRED}"))
        if (path.parent / path.name.removesuffix(REPAIRED)).is_dir()
    }
    if not pairs:
        return ""
    losses = [name for pair in pairs.items() for name in pair]
    last, best = (
        {name: runs[name] for name in (UNTRAINED, study.baseline) if name in runs}
        | {name: by_seed for name, by_seed in read_runs(place, losses).items() if name in losses}
        for runs, place in zip((study.last, study.best), places.values(), strict=True)
    )
    return _summary(rows(last, "sts"), rows(best, "sts"), pairs, "repaired - as it is")


def _rates(folder: Path, rates: list[str]) -> str:
    """An objective a line, a rate a column."""
    lines = [["objective", *rates]]
    for name in COMPARED:
        averages = {
            rate: [_average(folder / rate, reading, name) for reading in READINGS] for rate in rates
        }
        if sum(last is not None for last, _ in averages.values()) < 2:
            continue
        dev = {rate: _dev(folder / rate, name) for rate, (last, _) in averages.items() if last}
        best_rate = max(dev, key=dev.__getitem__)
        cells = []
        for rate, (last, best) in averages.items():
            averages_text = f"{cell(last)} ({cell(best)})" if last and best else "-"
            cells.append(f"**{averages_text}**" if rate == best_rate else averages_text)
        lines.append([f"`{name}`", *cells])
    return markdown_table(lines, left=1)


def _dev(folder: Path, name: str) -> float:
    """The dev score at the last step, mean over seeds."""
    seeds = [int(path.stem) for path in (folder / "curves" / name).glob("*.csv")]
    curves = read_curves(folder / "curves", [(name, seed) for seed in seeds])
    return dev_scores(curves)[name].last.mean


def _cells(folder: Path) -> str:
    """Which cells ran, on what, when and how."""
    lines = [["learning rate", "objective", "seed", "day", "processor", "precision", "torch"]]
    with (folder / "cells.csv").open(encoding="utf-8", newline="") as text:
        for entry in csv.DictReader(text):
            place = (
                folder / entry["rate"] / "records" / entry["objective"] / f"{entry['seed']}.json"
            )
            record = json.loads(place.read_text(encoding="utf-8"))
            how = [record["training"]["precision"], record["versions"]["torch"]]
            lines.append(
                [
                    entry["rate"],
                    f"`{entry['objective']}`",
                    entry["seed"],
                    entry["day"],
                    entry["processor"],
                    *how,
                ]
            )
    return markdown_table(lines, left=2)
