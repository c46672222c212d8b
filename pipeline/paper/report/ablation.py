"""The ablation of Table 5: dissipation, weight and ratio of an original put right in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.paper.figure import Exhibit
from pipeline.results.figures import line, panels
from pipeline.results.layout import cell, markdown_table, spread_json
from pipeline.results.numbers import ORIGINALS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.paper.report.study import Study
    from pipeline.results.numbers import Spread

# What an objective's name gets after each step, and the step's name.
STEPS = {
    "": "original",
    "_dissipation": "+ dissipation",
    "_dissipation_weight": "+ weight",
    "_modified": "+ ratio",
}

Family = dict[str, str]  # step -> name of an objective
_Read = tuple[str, "Callable[[Study, str], Spread | None]"]

READINGS: tuple[_Read, ...] = (
    ("STS average", lambda study, name: study.averages.get(name)),
    ("dev, best step", lambda study, name: study.dev[name].best if name in study.dev else None),
    ("dev, last step", lambda study, name: study.dev[name].last if name in study.dev else None),
)


def families(study: Study) -> dict[str, Family]:
    """The steps that were run of each original that was run with a later step."""
    found = {
        original: {
            step: original + ending
            for ending, step in STEPS.items()
            if original + ending in study.seeds
        }
        for original in ORIGINALS
    }
    return {name: steps for name, steps in found.items() if "original" in steps and len(steps) > 1}


def table(study: Study) -> str:
    """An original and a reading a line, a step a column."""
    lines = [["original", "reading", "seeds", *STEPS.values()]]
    for original, steps in families(study).items():
        seeds = str(min(len(study.seeds[name]) for name in steps.values()))
        for reading, read in READINGS:
            spreads = [read(study, steps[s]) if s in steps else None for s in STEPS.values()]
            if any(spreads):
                cells = ["-" if one is None else cell(one) for one in spreads]
                lines.append([f"`{original}`", reading, seeds, *cells])
    return markdown_table(lines, left=2)


def exhibit(study: Study, settings: dict[str, Any]) -> Exhibit:
    """A panel an original: each reading over the steps."""
    found = families(study)
    figure, axes = panels(len(found), sharey=True)
    data: dict[str, Any] = {}
    for panel, (original, steps) in zip(axes[0], found.items(), strict=True):
        data[original] = {}
        for index, (reading, read) in enumerate(READINGS):
            spreads = {step: read(study, name) for step, name in steps.items()}
            there = {step: one for step, one in spreads.items() if one is not None}
            if there:
                means = [one.mean for one in there.values()]
                errors = [one.deviation or 0.0 for one in there.values()]
                panel.errorbar(
                    list(there), means, yerr=errors, capsize=2, label=reading, **line(index)
                )
            data[original][reading] = {step: spread_json(one) for step, one in there.items()}
        panel.set_title(original)
        panel.tick_params(axis="x", rotation=20)
        panel.grid(alpha=0.3)
    axes[0][0].set_ylabel("Spearman x 100")
    axes[0][0].legend(frameon=False)
    return Exhibit(
        name="ablation",
        title="Ablation (Table 5)",
        caption=(
            "Spearman x 100 after each change, one on top of the other, mean over seeds (bars: "
            f"standard deviation, where there are several). STS average of {', '.join(study.tasks)}"
            " at the best step by STS-B dev; dev scores at the best and at the last step."
        ),
        settings=settings,
        data=data,
        figure=figure,
    )
