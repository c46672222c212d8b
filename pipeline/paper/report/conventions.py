"""What each convention changes: variants that differ from their objective in more than a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.paper.report.sweeps import LETTERS
from pipeline.results.layout import cell, markdown_table

if TYPE_CHECKING:
    from pipeline.paper.report.study import Study
    from pipeline.results.numbers import Spread


def chosen(study: Study) -> list[str]:
    """The variants with another convention or another setting of training, that have a twin."""
    return [
        name
        for name in study.seeds
        if study.params.kind(name) in study.dev
        and name in study.dev
        and any(key not in LETTERS for key in study.changes(name))
    ]


def table(study: Study) -> str:
    """A variant a line, with its difference from what it varies."""
    lines = [["objective", "changed", "seeds", "dev, best", "dev, last", "STS average"]]
    bases = dict.fromkeys(study.params.kind(name) for name in chosen(study))
    for base in bases:
        lines.append([f"`{base}`", "nothing", *_scores(study, base)])
        for name in chosen(study):
            if study.params.kind(name) == base:
                changed = ", ".join(f"{k}: {v}" for k, v in study.changes(name).items())
                lines.append([f"`{name}`", changed, *_scores(study, name, base)])
    return markdown_table(lines, left=2)


def _scores(study: Study, name: str, base: str | None = None) -> list[str]:
    def shown(spread: Spread | None, usual: Spread | None) -> str:
        if spread is None:
            return "-"
        difference = "" if usual is None else f" ({spread.mean - usual.mean:+.2f})"
        return cell(spread) + difference

    usual = study.dev[base] if base else None
    dev, average = study.dev[name], study.averages.get(base) if base else None
    return [
        str(len(study.seeds[name])),
        shown(dev.best, usual.best if usual else None),
        shown(dev.last, usual.last if usual else None),
        shown(study.averages.get(name), average),
    ]
