"""A comparison as the paper's Tables 2 and 4 in Markdown, and the same numbers for JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from pipeline.results.bootstrap import CLUSTERS, LEVEL, SEEDS, Interval
from pipeline.results.curves import Curves
from pipeline.results.layout import markdown_table, rounded
from pipeline.results.metrics import HalfName, Metrics, average_label
from pipeline.results.numbers import AVERAGE, Difference, Row, dev_scores, gains, noise_floor, rows
from pipeline.results.runs import Runs, any_of, untrained_dev
from pipeline.results.spread import SPREAD, cell


def as_json(
    runs: Runs, curves: Curves, differences: list[Difference], bootstrap: dict[str, int]
) -> Any:
    """Nested plain numbers, rounded so that equal inputs give equal bytes.

    Args:
        runs: Of all encoders, in the order of the rows.
        curves: Likewise.
        differences: From `numbers.differences`.
        bootstrap: Its `resamples` and `seed`.
    """
    run = any_of(runs)
    content: dict[str, Any] = {"data": run.data, "missing": run.missing}
    if run.sts:
        content |= {
            "pairs": {task: score.pairs for task, score in run.sts.items()},
            **_data_json(run, "sts"),
            "bootstrap": bootstrap | {"level_percent": LEVEL},
            "objectives": {name: asdict(row) for name, row in rows(runs, "sts").items()},
            "noise_floor": asdict(floor)
            if (floor := noise_floor(rows(runs, "sts").values()))
            else None,
            "differences": [asdict(difference) for difference in differences],
        }
    if run.transfer:
        transfer = rows(runs, "transfer")
        content["transfer"] = {
            "setting": run.setting,
            "classifier": run.classifier,
            "counts": {task: score.counts for task, score in run.transfer.items()},
            **_data_json(run, "transfer"),
            "objectives": {name: asdict(row) for name, row in transfer.items()},
            "differences": gains(transfer),
        }
    content["dev"] = {name: asdict(dev) for name, dev in dev_scores(curves).items()}
    return rounded(content)


def _data_json(run: Metrics, half: HalfName) -> dict[str, Any]:
    tasks = run.half(half)
    return {
        "labels": {task: score.label for task, score in tasks.items()},
        "average_label": average_label(list(tasks)),
        "comparable_to_published": not run.reservations(half),
    }


def as_markdown(
    runs: Runs, curves: Curves, differences: list[Difference], bootstrap: dict[str, int]
) -> str:
    """The same as captions and tables: scores, intervals and dev scores, where there are any."""
    run = any_of(runs)
    blocks = []
    if run.sts:
        what = "Spearman's correlation x 100 of cosine and gold, all pairs of a task together"
        summary = rows(runs, "sts")
        blocks += [_caption(run, "sts", f"{what}; {SPREAD}."), scores_table(summary)]
        blocks += floor_line(summary)
    if run.transfer:
        what = "Accuracy in percent of a linear classifier on frozen embeddings"
        how = f"Setting `{run.setting}`, classifier `{run.classifier}`."
        caption = _caption(run, "transfer", f"{what}; {SPREAD}. {how}")
        blocks += [caption, scores_table(rows(runs, "transfer"))]
    if run.missing:
        blocks.append(f"Missing, as their data was not there: {', '.join(run.missing)}.")
    if differences:
        blocks.append(
            f"Differences with {LEVEL} % confidence intervals: paired bootstrap over clusters of "
            f"pairs that share sentences ({bootstrap['resamples']:,} resamples, seed "
            f"{bootstrap['seed']}), of the seeds that both have. {_seeds_drawn(differences)} "
            "p: of a modified form's average, adjusted by Holm for the number of such pairs; other "
            "rows have none and only describe."
        )
        pairs = {task: score.pairs for task, score in (run.sts or {}).items()}
        blocks.append(_differences(differences, pairs))
    if curves:
        blocks.append(
            "Spearman's correlation x 100 on the dev pairs during training: at the last step, and "
            "at the best one, which only labels can find."
        )
        blocks.append(_dev(curves, untrained_dev(runs)))
    return "\n\n".join(blocks) + "\n"


def floor_line(rows: dict[str, Row]) -> list[str]:
    """What differences of the averages are noise, where there are seeds that tell."""
    floor = noise_floor(rows.values())
    if floor is None:
        return []
    line = (
        f"Noise floor of averages: seeds of one objective have a standard deviation of "
        f"{floor.deviation:.2f} (pooled, {floor.degrees_of_freedom} degrees of freedom). "
        f"Differences below {floor.smallest:.2f} between two means of {floor.seeds} seeds are "
        "noise here."
    )
    return [line]


def _seeds_drawn(differences: Sequence[Difference]) -> str:
    counts = {len(difference.shared_seeds) for difference in differences if difference.tasks}
    if any(count >= SEEDS for count in counts):
        return (
            "Where there are three seeds or more, each resample draws seeds too. With so few "
            "seeds the true interval is somewhat wider."
        )
    return "The interval covers the choice of pairs, not the choice of training seeds."


def _caption(run: Metrics, half: HalfName, what: str) -> str:
    tasks = list(run.half(half))
    average = f"; {average_label(tasks)}" if len(tasks) > 1 else ""
    return "\n".join([f"{what} Measured on `{run.data}`{average}.", *warning(run, half)])


def warning(run: Metrics, half: HalfName) -> list[str]:
    """The line that keeps a half's scores away from published ones, if there is a reason to."""
    reasons = "; ".join(run.reservations(half))
    line = f"**Not comparable ({reasons}): the numbers must not be put beside published ones.**"
    return [line] if reasons else []


def scores_table(rows: dict[str, Row]) -> str:
    """An objective a line, a task a column; below each modified form its gain on the original."""
    tasks = _shown(next(iter(rows.values())).scores)
    by_objective = gains(rows)
    lines = [["objective", "seeds", *tasks]]
    for name, row in rows.items():
        seeds = f"n = {len(row.seeds)}" if row.seeds else "-"
        lines.append([f"`{name}`", seeds, *(cell(row.scores[task]) for task in tasks)])
        if gain := by_objective.get(name):
            lines.append(["*modified - original*", "", *(f"*{gain[task]:+.2f}*" for task in tasks)])
    return markdown_table(lines, left=1)


def _differences(differences: list[Difference], pairs: dict[str, int]) -> str:
    """Of a modified form and its original all tasks; of other two the average."""
    counts = pairs | {AVERAGE: sum(pairs.values())}
    lines = [["objective", "less", "task", "difference", "interval", "p", "reading", "seeds"]]
    for difference in differences:
        names = [f"`{difference.objective}`", f"`{difference.reference}`"]
        if not difference.tasks:
            lines.append([*names, "-", "-", "-", "-", "no seed in common", "-"])
            continue
        tasks = _shown(difference.tasks)
        for task in tasks if difference.is_primary else tasks[-1:]:
            bounds_of_task = difference.tasks[task]
            seeds = ", ".join(map(str, difference.shared_seeds))
            p = "" if difference.holm_p is None or task != tasks[-1] else f"{difference.holm_p:.4f}"
            reading = _reading(bounds_of_task, counts[task], len(difference.shared_seeds))
            figures = [f"{bounds_of_task.difference:+.2f}", _bounds(bounds_of_task), p, reading]
            lines.append([*names, task, *figures, seeds])
    return markdown_table(lines, left=3)


def _bounds(interval: Interval) -> str:
    return "-" if interval.low is None else f"{interval.low:+.2f} to {interval.high:+.2f}"


def _reading(interval: Interval, pairs: int, seeds: int) -> str:
    """What an interval says, in words."""
    if interval.low is None:
        return f"no interval: the pairs form fewer than {CLUSTERS} groups without a common sentence"
    if interval.includes_zero:
        runs = f" and {seeds} seeds" if seeds >= SEEDS else ""
        return f"includes zero: {pairs:,} pairs{runs} cannot separate the two"
    word = "higher" if interval.low > 0 else "lower"
    return f"{word} in this run" if seeds < 2 else word


def _dev(curves: Curves, untrained: dict[str, float]) -> str:
    lines = [["objective", "last", "best", "last - best"]]
    lines += [[f"`{name}`", f"{score:.2f}", "-", "-"] for name, score in untrained.items()]
    for name, dev in dev_scores(curves).items():
        fall = f"{dev.last.mean - dev.best.mean:+.2f}"
        lines.append([f"`{name}`", cell(dev.last), cell(dev.best), fall])
    return markdown_table(lines, left=1)


def _shown(tasks: Iterable[str]) -> list[str]:
    """All tasks and their average, or the only task."""
    names = list(tasks)
    return names if len(names) > 2 else names[:1]
