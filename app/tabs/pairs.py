"""Many pairs, pasted or uploaded: scores, ranks, and how well both encoders agree with people."""

import html
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np

from app import sample, svg
from app.client import Card
from app.downloads import save
from app.pair_table import MOST_PAIRS, PairTable, read_pairs, write_csv
from app.shared import (
    SCROLL,
    Guarded,
    InputError,
    Shared,
    check_chosen,
    cut_note,
    graded_places,
    html_table,
    lettered,
    place_notice,
    ungraded_notes,
)
from app.statistics import Correlation, Values, correlations, difference

_STEP = 100  # pairs of a request, after which the progress is shown
_TABLE_ROWS = 500  # of the table on the page; the file has all


class PairsTab:
    """The tab."""

    def __init__(self, shared: Shared) -> None:
        self._api = shared.api
        with gr.Row(elem_classes="given"):
            self.text = gr.Textbox(
                label=f"Up to {MOST_PAIRS:,} pairs: CSV, TSV, or a tab between two sentences; a "
                "third column of numbers is taken as people's grades",
                lines=6,
                max_lines=6,
                elem_id="pairs",
                scale=3,
            )
            self._file = gr.File(
                label="Or a file (.csv, .tsv, .txt)",
                file_types=[".csv", ".tsv", ".txt"],
                type="filepath",
                elem_id="pairs-file",
                height=160,
                scale=1,
            )
        with gr.Row():
            button = gr.Button("Score the pairs", variant="primary", elem_id="run-pairs")
            example = gr.Button("Fill in graded pairs of the sample", elem_id="sample-pairs")
        notice = place_notice()
        result = gr.HTML(elem_id="pairs-result", elem_classes="result")
        download = gr.DownloadButton("Download all as CSV", visible=False)
        self.shown = shared.guarded(self._score, [self.text], notice, [result, download])
        outputs = [notice, shared.timer, self.text, self._file]
        read = Guarded(self._read, [self._file], outputs)
        self.triggers = (button.click, read.on(self._file.upload).then)
        example.click(self._example, None, [self.text], queue=False, api_visibility="private")

    def _read(self, path: str) -> tuple[str, None]:
        """The file's text into the box; the file itself is deleted at once."""
        file = Path(path)
        try:
            content = file.read_bytes()
        finally:
            file.unlink(missing_ok=True)
        return read_pairs(content).text, None

    def _example(self) -> str:
        pairs = sample.graded_pairs()
        return "\n".join(f"{pair.first}\t{pair.second}\t{pair.gold:g}" for pair in pairs)

    def _score(
        self,
        first: str,
        second: str,
        key: str,
        text: str,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - how Gradio finds it
    ) -> tuple[Any, ...]:
        names = check_chosen(first, second)
        table = read_pairs(text)
        if not table.rows:
            raise InputError(f"No pair can be scored. {' '.join(table.problems[:3])}")
        pairs = [(row.first, row.second) for row in table.rows]
        cosines: dict[str, list[float]] = {name: [] for name in names}
        truncated: dict[str, list[str]] = {name: [] for name in names}
        for start in range(0, len(pairs), _STEP):
            progress((start, len(pairs)), unit="pairs")
            part = self._api.pairs(list(cosines), pairs[start : start + _STEP], key)
            for name, similarities in part.items():
                cosines[name] += similarities.cosines.tolist()
                truncated[name] += similarities.truncated
        cards = self._api.cards(key)
        notes = "".join(
            cut_note(cut, name, cards[name]["max_length"]) for name, cut in truncated.items()
        )
        notes += ungraded_notes(cards, names)
        result, download = self._shown(table, names, cosines, cards)
        return notes + result, download

    def _shown(
        self,
        table: PairTable,
        names: tuple[str, str],
        cosines: dict[str, list[float]],
        cards: dict[str, Card],
    ) -> tuple[str, Any]:
        scores = [np.array(cosines[name]) for name in names]
        own = [
            graded_places(cards, name, scores_of)
            for name, scores_of in zip(names, scores, strict=True)
        ]
        gold = np.array([row.gold for row in table.rows], float) if table.has_gold else None
        headers = ["Line", "First sentence", "Second sentence"]
        headers += ["Graded"] if table.has_gold else []
        headers += ["A: cosine", "A: %", "B: cosine", "B: %", "B - A"]
        rows: list[list[str | int | float]] = []
        for index, row in enumerate(table.rows):
            graded = [] if row.gold is None or not table.has_gold else [row.gold]
            numbers = [round(float(scores[side][index]), 4) for side in (0, 1)]
            places = [round(float(own[side][index]), 1) for side in (0, 1)]
            both = [numbers[0], places[0], numbers[1], places[1], round(places[1] - places[0], 1)]
            rows.append([row.number, row.first, row.second, *graded, *both])
        order = sorted(range(len(rows)), key=lambda index: -abs(float(rows[index][-1])))
        titles = lettered(cards, names)
        summary = _problems(table) + _correlated(titles, scores, gold)
        charts = _charts(own, gold)
        file = write_csv(headers, [rows[index] for index in order])
        return (
            summary + charts + _rows(headers, rows, order),
            gr.DownloadButton(value=save(file), visible=True),
        )


def _charts(own: list[Values], gold: Values | None) -> str:
    if gold is None:
        picture = svg.scatter(
            own[0], own[1], 1, ("A, %", "B, %"), (0, 100), f"{len(own[0])} pairs by A and by B."
        )
    else:
        limits = (float(gold.min()), float(gold.max()))
        picture = "".join(
            svg.scatter(
                gold,
                places,
                side,
                ("grade of people", f"{'AB'[side]}, %"),
                limits,
                f"{len(gold)} pairs by people's grades and by {'AB'[side]}.",
            )
            for side, places in enumerate(own)
        )
    return f'<div class="scores">{picture}</div>'


def _rows(headers: list[str], rows: list[list[Any]], order: list[int]) -> str:
    """The table, the largest differences first; a click on a heading sorts it."""
    heads = "".join(
        f'<th scope="col"><button type="button" data-sort>{name}</button></th>' for name in headers
    )
    heads = 'scope="col" aria-sort="descending"'.join(heads.rsplit('scope="col"', 1))
    body = ""
    for index in order[:_TABLE_ROWS]:
        cells = "".join(
            f"<td>{html.escape(cell)}</td>" if isinstance(cell, str) else f"<td>{cell:g}</td>"
            for cell in rows[index][:-1]
        )
        apart = rows[index][-1]
        last = f'<td data-value="{abs(apart)}">{apart:+.1f}</td>'
        body += f'<tr data-link="row-{index}">{cells}{last}</tr>'
    left = len(order) - _TABLE_ROWS
    note = f"<p>{left:,} more pairs are in the file.</p>" if left > 0 else ""
    return (
        f"<p>%: places among an encoder's own graded pairs. B - A is sorted by size.</p>"
        f'{SCROLL}<table id="pairs-table"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody>'
        f"</table></div>{note}"
    )


def _problems(table: PairTable) -> str:
    if not table.problems:
        return ""
    items = "".join(f"<li>{html.escape(problem)}</li>" for problem in table.problems)
    count = len(table.problems)
    left = "1 row was left out" if count == 1 else f"{count:,} rows were left out"
    return f'<details class="alert" open><summary>{left}</summary><ul>{items}</ul></details>'


def _correlated(titles: list[str], scores: list[Values], gold: Values | None) -> str:
    if gold is None:
        return "<p>With a third column of grades, both encoders are correlated with it.</p>"
    body = ""
    for title, values in zip(titles, scores, strict=True):
        spearman, pearson = correlations(values, gold)
        body += (
            f"<tr><th scope='row'>{title}</th><td>{_interval(spearman)}</td>"
            f"<td>{_interval(pearson)}</td></tr>"
        )
    apart = _interval(difference(scores[1], scores[0], gold))
    body += f"<tr><th scope='row'>B minus A</th><td>{apart}</td><td></td></tr>"
    caption = (
        "<caption>Correlation with the grades, x 100, with the 95 % interval over 1,000 resamples "
        f"of {len(gold):,} pairs</caption>"
    )
    return html_table(("Encoder", "Spearman", "Pearson"), body, caption)


def _interval(correlation: Correlation) -> str:
    if not np.isfinite(correlation.value):
        return "no correlation: too few different values"
    value, low, high = (100 * x for x in (correlation.value, correlation.low, correlation.high))
    return f"{value:.1f} ({low:.1f} to {high:.1f})"
