"""How both encoders were trained, and the table of all that were measured."""

import html
from collections.abc import Mapping
from typing import Any

import gradio as gr

from app import svg
from app.shared import Shared, check_chosen, html_table, lettered, place_notice

# Key of a curve's rows -> title, and what it is.
_MEASURES = {
    "dev_spearman": ("Agreement with people", "Spearman x 100 on the dev pairs."),
    "dissipation": ("Dissipation", "Mean over a batch's anchors; 0 where all are left alone."),
    "hardest_share": (
        "Weight",
        "Share of the most similar negative in the push; none where all anchors are left alone.",
    ),
    "ratio": ("Ratio", "Pull for each unit of push; logarithmic on both sides of 0."),
    "positive_cosine": ("Positive cosine", "Mean cosine of an anchor and its positive."),
    "negative_cosine": ("Negative cosine", "Mean cosine of an anchor and its negatives."),
}


class TrainingTab:
    """The tab."""

    def __init__(self, shared: Shared) -> None:
        self._api = shared.api
        self.trigger = gr.Button("Show", elem_id="run-training", elem_classes="unseen").click
        notice = place_notice()
        result = gr.HTML(elem_id="training", elem_classes="result")
        self.shown = shared.guarded(self._show, [], notice, [result])

    def _show(self, first: str, second: str, key: str) -> tuple[str]:
        names = check_chosen(first, second)
        records = [self._api.training(name, key) for name in names]
        titles = lettered(self._api.cards(key), names)
        curves = [record["curve"] if record else [] for record in records]
        summary = "".join(
            _summary(side, title, record)
            for side, (title, record) in enumerate(zip(titles, records, strict=True))
        )
        charts = "".join(
            f"<figure><h3>{title}</h3><p>{meaning}</p>"
            f"{svg.curves(curves, key, symmetric=key == 'ratio')}</figure>"
            for key, (title, meaning) in _MEASURES.items()
        )
        results = _table(self._api.results(key))
        return (f'<div class="scores">{summary}</div><div class="three">{charts}</div>{results}',)


def _summary(side: int, title: str, record: Mapping[str, Any] | None) -> str:
    if record is None:
        what = "was not trained here, so that there is no curve."
    else:
        step = record.get("kept") or record.get("best") or {}
        settings = ", ".join(f"{k} {v}" for k, v in (record["hyperparameters"] or {}).items())
        what = (
            f"{html.escape(str(record['objective']))} ({html.escape(settings)}), seed "
            f"{record['seed']}, {record['steps']} steps on {html.escape(str(record['hardware']))}; "
            f"kept is step {step.get('step')}, with {step.get('dev_spearman', float('nan')):.1f} "
            "on the dev pairs."
        )
    return f'<section class="score side-{side}"><h3>{title}</h3><p>{what}</p></section>'


def _table(results: Mapping[str, Any] | None) -> str:
    if results is None:
        return "<p>There is no table of results yet: <code>make repro</code> makes it.</p>"
    objectives = results.get("objectives", {})
    columns = list(dict.fromkeys(task for row in objectives.values() for task in row["scores"]))
    rows = "".join(
        f"<tr><th scope='row'>{html.escape(name)}</th><td>{len(row['seeds'])}</td>"
        + "".join(f"<td>{_score(row['scores'].get(column))}</td>" for column in columns)
        + "</tr>"
        for name, row in objectives.items()
    )
    pairs = sum(results.get("pairs", {}).values())
    against = (
        ""
        if results.get("comparable_to_published")
        else " They are not to be put beside published figures: backbone and data are others."
    )
    caption = (
        "<caption>Spearman x 100, mean and standard deviation over seeds, on "
        f"{html.escape(str(results.get('data')))} data ({pairs:,} graded pairs).{against}</caption>"
    )
    return html_table(["Objective", "Seeds", *map(html.escape, columns)], rows, caption)


def _score(score: Mapping[str, float | None] | None) -> str:
    if score is None or score["mean"] is None:
        return "-"
    spread = "" if score["deviation"] is None else f" ± {score['deviation']:.1f}"
    return f"{score['mean']:.1f}{spread}"
