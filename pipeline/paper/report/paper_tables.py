"""The paper's Tables 2 and 4 and its Figure 1 in our numbers.

The published figures (published.json) stand beside them only where backbone, sentences and test
data are the paper's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.paper.figure import Exhibit
from pipeline.results.figures import COLOURS, panels
from pipeline.results.layout import cell, markdown_table
from pipeline.results.numbers import AVERAGE, ORIGINALS, Spread, names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.config.schema import Params

PUBLISHED = Path(__file__).with_name("published.json")
# The paper's backbones and sentences, by the names that params.yaml has for them.
BACKBONES = {"bert-base-uncased": "bert-base", "roberta-base": "roberta-base"}
SENTENCES = "hf://datasets/princeton-nlp/datasets-for-simcse/wiki1m_for_simcse.txt"

Rows = dict[str, dict[str, Spread]]  # by objective and task


def published(params: Params, comparison: Mapping[str, Any], half: str) -> Rows | None:
    """The paper's scores of `sts` or `transfer`, or None where ours are no match for them."""
    backbone = BACKBONES.get(params.backbone.source)
    comparable = comparison if half == "sts" else comparison.get("transfer", {})
    if backbone is None or params.corpus.source != SENTENCES:
        return None
    if not comparable.get("comparable_to_published"):
        return None
    tables: dict[str, Any] = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    return {
        name: {
            task: Spread(score, None)
            for task, score in found["scores"].items()
            if score is not None
        }
        for name, found in tables[half][backbone].items()
    }


def ours(comparison: Mapping[str, Any], half: str) -> Rows:
    """Our scores, as `compare` wrote them; none of a half that did not run."""
    table = comparison if half == "sts" else comparison.get("transfer", {})
    return {
        name: {
            task: Spread(found["mean"], found["deviation"])
            for task, found in measured["scores"].items()
        }
        for name, measured in table.get("objectives", {}).items()
    }


def table(own: Rows, paper: Rows | None) -> str:
    """An objective a line, a task a column; below it the paper's line, if there is one."""
    tasks = list(next(iter(own.values())))
    lines = [["objective", *tasks]]
    for name, scores in own.items():
        lines.append([f"`{name}`", *(cell(scores[task]) for task in tasks)])
        if paper is not None and name in paper:
            theirs = (paper[name].get(task) for task in tasks)
            lines.append(["*published*", *("-" if one is None else cell(one) for one in theirs)])
    return markdown_table(lines, left=1)


def pairs(own: Rows) -> dict[str, tuple[Spread, Spread]]:
    """Averages of original and modified form, of the families that have both."""
    twins = [names(original) for original in ORIGINALS]
    return {
        original: (own[original][AVERAGE], own[modified][AVERAGE])
        for original, modified in twins
        if original in own and modified in own
    }


def exhibit(own: Rows, paper: Rows | None, settings: Mapping[str, Any]) -> Exhibit:
    """Figure 1: average STS before and after the modification, a pair of bars an objective."""
    found = pairs(own)
    figure, axes = panels(width=6.4)
    panel = axes[0][0]
    width = 0.38
    for place, (label, hatch) in enumerate((("original", ""), ("modified", "///"))):
        spreads = [both[place] for both in found.values()]
        panel.bar(
            [index + (place - 0.5) * width for index in range(len(found))],
            [one.mean for one in spreads],
            width,
            yerr=[one.deviation or 0.0 for one in spreads],
            capsize=2,
            label=label,
            color=COLOURS[(3, 2)[place]],
            edgecolor="black",
            hatch=hatch,
        )
    for index, original in enumerate(found):
        _mark_published(panel, index, width, original, paper)
    panel.set_xticks(range(len(found)), list(found))
    panel.set_xlim(-1, len(found))
    panel.set_ylabel("average STS, Spearman x 100")
    panel.grid(axis="y", alpha=0.3)
    panel.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    beside = (
        " Lines: the published averages."
        if paper is not None
        else " No published figure stands beside them: backbone, sentences or test data differ."
    )
    return Exhibit(
        name="before_and_after",
        title="Before and after the modification (Figure 1)",
        caption=(
            "Average STS score (Spearman x 100) of each original objective and its modified form, "
            "mean over seeds (bars: standard deviation, where there are several)." + beside
        ),
        settings=settings,
        data={
            original: {
                name: {"mean": one.mean, "deviation": one.deviation}
                for name, one in zip(("original", "modified"), both, strict=True)
            }
            for original, both in found.items()
        },
        figure=figure,
    )


def _mark_published(
    panel: Any, index: int, width: float, original: str, paper: Rows | None
) -> None:
    for place, name in enumerate(names(original)):
        score = (paper or {}).get(name, {}).get(AVERAGE)
        if score is not None:
            left = index + (place - 1) * width
            panel.hlines(score.mean, left, left + width, colors="black", linestyles=":")
