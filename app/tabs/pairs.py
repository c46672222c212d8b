"""Many pairs, pasted or uploaded: scores, ranks, and how well both encoders agree with people."""

import html
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np

from app import sample
from app.charts.scores import agreement_chart, gold_chart
from app.downloads import save
from app.pair_table import MOST_PAIRS, PairTable, read_pairs, write_csv
from app.shared import SCROLL, Guarded, InputError, Shared, check_chosen, cut_note, place_notice
from app.statistics import Correlation, correlations, difference, ranks

_STEP = 100  # pairs of a request, after which the progress is shown
_HEADERS = ("Line", "First sentence", "Second sentence", "Graded")


class PairsTab:
    """The tab."""

    def __init__(self, shared: Shared) -> None:
        self._api = shared.api
        gr.Markdown(
            f"Up to {MOST_PAIRS:,} pairs as CSV, TSV or lines with a tab between two sentences; a "
            "third column of numbers is taken as people's grades."
        )
        with gr.Row():
            self._text = gr.Textbox(label="Pairs", lines=8, elem_id="pairs-text", scale=3)
            self._file = gr.File(
                label="Or a file (.csv, .tsv, .txt)",
                file_types=[".csv", ".tsv", ".txt"],
                type="filepath",
                elem_id="pairs-file",
                scale=1,
            )
        with gr.Row():
            button = gr.Button("Score the pairs", variant="primary", elem_id="score-pairs")
            example = gr.Button("Fill in graded pairs of the sample", elem_id="sample-pairs")
        notice = place_notice()
        summary = gr.HTML(elem_id="pairs-summary")
        table = gr.Dataframe(
            headers=list(_HEADERS),
            interactive=False,
            wrap=True,
            visible=False,
            max_height=480,
            show_search="none",
            label="Scores: click a heading to sort",
            elem_id="pairs-table",
        )
        download = gr.DownloadButton("Download the table as CSV", visible=False)
        with gr.Row():
            first_chart = gr.Plot(show_label=False, container=False, visible=False)
            second_chart = gr.Plot(show_label=False, container=False, visible=False)
        score = shared.guarded(
            self._score, [self._text], notice, [summary, table, download, first_chart, second_chart]
        )
        outputs = [notice, shared.timer, self._text, self._file]
        read = Guarded(self._read, [self._file], outputs)
        for trigger in (button.click, read.on(self._file.upload).then):
            score.on(trigger, queue=True, show_progress="full", concurrency_limit=2)
        example.click(self._example, None, [self._text], queue=False, api_visibility="private")

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
        return "\n".join(f"{one.first}\t{one.second}\t{one.gold:g}" for one in pairs)

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
            found = self._api.pairs(list(cosines), pairs[start : start + _STEP], key)
            for name, similarities in found.items():
                cosines[name] += similarities.cosines.tolist()
                truncated[name] += similarities.truncated
        return self._shown(table, names, pairs, cosines, self._notes(truncated, key))

    def _notes(self, truncated: dict[str, list[str]], key: str) -> str:
        if not any(truncated.values()):
            return ""
        cards = self._api.cards(key)
        return "".join(
            cut_note(cut, name, cards[name]["max_length"]) for name, cut in truncated.items()
        )

    def _shown(
        self,
        table: PairTable,
        names: tuple[str, str],
        pairs: list[tuple[str, str]],
        cosines: dict[str, list[float]],
        notes: str,
    ) -> tuple[Any, ...]:
        scores = [np.array(cosines[name]) for name in names]
        places = [ranks(one) for one in scores]
        moved = places[0] - places[1]
        gold = np.array([row.gold for row in table.rows], float) if table.has_gold else None
        rows: list[list[Any]] = []
        for index, row in enumerate(table.rows):
            numbers = [scores[0][index], places[0][index], scores[1][index], places[1][index]]
            graded = [] if gold is None else [float(gold[index])]
            rows.append(
                [row.number, row.first, row.second, *graded]
                + [round(float(number), 4) for number in numbers]
                + [float(moved[index])]
            )
        # The largest disagreements first.
        rows.sort(key=lambda row: -abs(row[-1]))
        headers = [*_HEADERS[:3], *(["Graded"] if gold is not None else [])]
        for name in names:
            headers += [f"{name}: cosine", f"{name}: rank"]
        headers.append("Ranks apart")
        if gold is None:
            figures = [agreement_chart(names, scores[0], scores[1], pairs), None]
        else:
            figures = [
                gold_chart(name, place, gold, one, pairs)
                for place, (name, one) in enumerate(zip(names, scores, strict=True))
            ]
        plots = [gr.Plot(figure, visible=figure is not None) for figure in figures]
        summary = _problems(table) + _correlated(names, scores, gold) + notes
        return (
            summary,
            gr.Dataframe(rows, headers=headers, column_widths=_widths(len(headers)), visible=True),
            gr.DownloadButton(value=save(write_csv(headers, rows)), visible=True),
            *plots,
        )


def _widths(columns: int) -> list[str | int]:
    """Of the line, two sentences, and numbers, in pixels: Gradio takes any unit for that."""
    return [70, 300, 300, *[120] * (columns - 3)]


def _problems(table: PairTable) -> str:
    if not table.problems:
        return ""
    items = "".join(f"<li>{html.escape(problem)}</li>" for problem in table.problems)
    count = len(table.problems)
    left = "1 row was left out" if count == 1 else f"{count:,} rows were left out"
    return f'<details class="alert" open><summary>{left}</summary><ul>{items}</ul></details>'


def _correlated(names: tuple[str, str], scores: list[Any], gold: Any) -> str:
    if gold is None:
        return "<p>With a third column of grades, both encoders are correlated with it.</p>"
    body = ""
    for name, one in zip(names, scores, strict=True):
        spearman, pearson = correlations(one, gold)
        body += (
            f"<tr><th scope='row'>{html.escape(name)}</th><td>{_interval(spearman)}</td>"
            f"<td>{_interval(pearson)}</td></tr>"
        )
    apart = _interval(difference(scores[1], scores[0], gold))
    return (
        f"{SCROLL}<table><caption>Correlation with the grades, x 100, with the 95 % "
        f"interval over 1,000 resamples of {len(gold):,} pairs</caption><thead><tr>"
        "<th scope='col'>Encoder</th><th scope='col'>Spearman</th><th scope='col'>Pearson</th>"
        f"</tr></thead><tbody>{body}<tr><th scope='row'>second - first</th><td>{apart}</td>"
        "<td></td></tr></tbody></table></div>"
    )


def _interval(found: Correlation) -> str:
    if not np.isfinite(found.value):
        return "no correlation: too few different values"
    return f"{100 * found.value:.1f} ({100 * found.low:.1f} to {100 * found.high:.1f})"
