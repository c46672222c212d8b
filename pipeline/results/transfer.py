"""The paper's Table 4: accuracies of the transfer tasks, in Markdown and for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.results.layout import SPREAD, measured_on, rounded, rows_json, scores_table, warning
from pipeline.results.metrics import average_label
from pipeline.results.numbers import differences

if TYPE_CHECKING:
    from pipeline.results.numbers import Row
    from pipeline.results.runs import Run, Runs

PUBLISHED = ("test", "mlp")  # what papers report


def transfer_blocks(runs: Runs, rows: list[Row]) -> list[str]:
    """Caption and table."""
    return ["\n".join([_caption(runs), *_warning(runs.any)]), scores_table(rows)]


def transfer_json(runs: Runs, rows: list[Row]) -> dict[str, Any]:
    """Nested plain numbers."""
    half = runs.half("transfer")
    return {
        "setting": runs.any.setting,
        "classifier": runs.any.classifier,
        "counts": half.counts,
        "labels": half.labels,
        "average_label": average_label(list(half.scores)),
        "comparable_to_published": not _warning(runs.any),
        "objectives": rows_json(rows),
        "differences": {name: rounded(gain) for name, gain in differences(rows).items()},
    }


def _caption(runs: Runs) -> str:
    return (
        f"Accuracy in percent of a linear classifier on frozen embeddings; {SPREAD}. Setting "
        f"`{runs.any.setting}`, classifier `{runs.any.classifier}`. "
        f"{measured_on(runs.any.data, list(runs.half('transfer').scores))}"
    )


def _warning(run: Run) -> list[str]:
    used = (run.setting, run.classifier)
    unusual = [] if used == PUBLISHED else ["papers report setting `test` with classifier `mlp`"]
    return warning(run.halves["transfer"], *unusual)
