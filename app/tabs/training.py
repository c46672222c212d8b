"""How both encoders were trained, and the table of all that were measured."""

import html
from collections.abc import Mapping
from typing import Any

import gradio as gr

from app.charts.training import MEASURES, curve_chart
from app.shared import SCROLL, Shared, Shown, check_chosen, place_notice


class TrainingTab:
    """The tab."""

    def __init__(self, shared: Shared) -> None:
        self._api = shared.api
        notice = place_notice()
        summary = gr.HTML(elem_id="training-summary")
        charts = []
        with gr.Row():
            for measure, (title, meaning) in MEASURES.items():
                with gr.Column(min_width=340, scale=1):
                    gr.HTML(f"<h3>{html.escape(title)}</h3><p>{html.escape(meaning)}</p>")
                    charts.append(
                        gr.Plot(show_label=False, container=False, elem_id=f"curve-{measure}")
                    )
        table = gr.HTML(elem_id="results")
        self._shown = shared.guarded(self._show, [], notice, [summary, table, *charts])

    def on(self, trigger: Any, only: Shown | None = None) -> None:
        """Show it on an event."""
        self._shown.on(trigger, only)

    def _show(self, first: str, second: str, key: str) -> tuple[Any, ...]:
        names = check_chosen(first, second)
        records = [self._api.training(name, key) for name in names]
        curves = [record["curve"] if record else [] for record in records]
        summary = "".join(
            _summary(place, name, record)
            for place, name, record in zip(("first", "second"), names, records, strict=True)
        )
        return (
            f'<div class="scores">{summary}</div>',
            _table(self._api.results(key)),
            *(
                curve_chart(names, curves, key=measure, axis=MEASURES[measure][0])
                for measure in MEASURES
            ),
        )


def _summary(place: str, name: str, record: Mapping[str, Any] | None) -> str:
    if record is None:
        what = "was not trained here, so that there is no curve."
    else:
        kept = record.get("kept") or record.get("best") or {}
        settings = ", ".join(f"{k} {v}" for k, v in (record["hyperparameters"] or {}).items())
        what = (
            f"{html.escape(str(record['objective']))} ({html.escape(settings)}), seed "
            f"{record['seed']}, {record['steps']} steps on {html.escape(str(record['hardware']))}; "
            f"kept is step {kept.get('step')}, with {kept.get('dev_spearman', float('nan')):.1f} "
            "on the dev pairs."
        )
    return f'<section class="score {place}"><h3>{html.escape(name)}</h3><p>{what}</p></section>'


def _table(results: Mapping[str, Any] | None) -> str:
    if results is None:
        return "<p>There is no table of results yet: <code>make repro</code> makes it.</p>"
    objectives = results.get("objectives", {})
    columns = list(dict.fromkeys(task for one in objectives.values() for task in one["scores"]))
    heads = "".join(f"<th scope='col'>{html.escape(column)}</th>" for column in columns)
    rows = "".join(
        f"<tr><th scope='row'>{html.escape(name)}</th><td>{len(one['seeds'])}</td>"
        + "".join(f"<td>{_score(one['scores'].get(column))}</td>" for column in columns)
        + "</tr>"
        for name, one in objectives.items()
    )
    pairs = sum(results.get("pairs", {}).values())
    against = (
        ""
        if results.get("comparable_to_published")
        else " They are not to be put beside published figures: backbone and data are others."
    )
    return (
        f"{SCROLL}<table><caption>Spearman x 100, mean and standard deviation over "
        f"seeds, on {html.escape(str(results.get('data')))} data ({pairs:,} graded pairs)."
        f"{against}</caption><thead><tr><th scope='col'>Objective</th><th scope='col'>Seeds</th>"
        f"{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _score(score: Mapping[str, float | None] | None) -> str:
    if score is None or score["mean"] is None:
        return "-"
    spread = "" if score["deviation"] is None else f" ± {score['deviation']:.1f}"
    return f"{score['mean']:.1f}{spread}"
