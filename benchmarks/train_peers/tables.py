"""The report on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from benchmarks.train_peers.contestants import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

COLUMNS = (
    "ms a step",
    "ours faster",
    "sentences/s",
    "a million",
    "of peak",
    "compile s",
    "peak MiB",
)
OVERHEAD_COLUMNS = ("objective ms", "of the step", "recording ms", "of the step")
TRAINER = (
    "The trainer's time includes tokenizing, collating and its work on the host: who uses it pays "
    "for that, too."
)


def report(result: dict[str, Any]) -> Iterator[RenderableType]:
    """What is printed, from top to bottom."""
    yield escape("\n".join(about(result)))
    for name, size in result["sizes"].items():
        yield _contest(title(name, size, result), size)
        for peer, reason in size["not_run"].items():
            yield f"[bold]not run[/] {peer}: {escape(reason)}"
        if "overheads" in size:
            yield _overheads(overheads_title(name, size["overheads"]), size["overheads"])


def about(result: dict[str, Any]) -> list[str]:
    """Machine, versions, sentences, peak, and how to read the tables."""
    machine, sentences, peak = result["machine"], result["sentences"], result["peak"]
    ours = result["settings"]["ours"]
    packages = machine["versions"].items()
    versions = ", ".join(f"{name} {version}" for name, version in packages if version)
    tflops = ", ".join(f"{name} {value:.3g}" for name, value in peak["tflops"].items())
    where = f"{machine['device']} ({machine['cpu']}, {machine['cores']} cores"
    return [
        f"{where}, {machine['threads']} threads), {machine['date']}; {versions}.",
        (
            f"{sentences['count']:,} sentences of {sentences['source']}, "
            f"{sentences['mean_tokens']:.1f} tokens on average, cut to {sentences['max_length']}."
        ),
        (
            f'Matmul peak in the same run, TFLOP/s: {tflops}. "of peak" is of {peak["reference"]}, '
            "and counts the arithmetic that our step needs, whoever takes it."
        ),
        (
            f"Ours runs in {ours['precision']}, {'' if ours['compiled'] else 'not '}compiled, as "
            "`precision: auto` and `compile: auto` choose here."
        ),
        TRAINER,
    ]


def title(name: str, size: dict[str, Any], result: dict[str, Any]) -> str:
    """Of a size's table."""
    work, settings = size["arithmetic"], result["settings"]
    return (
        f"{name}: {work['layers']} layers of {work['width']}, {settings['batch_size']} sentences "
        f"x 2 views a step, {work['flops_per_step'] / 1e9:.0f} GFLOP; median (least-greatest) of "
        f"{settings['rounds']} rounds of {settings['steps']} steps"
    )


def overheads_title(name: str, found: dict[str, Any]) -> str:
    """Of a size's second table."""
    compiled = "compiled" if found["compiled"] else "not compiled"
    return (
        f"{name}: parts of a step of {found['batch_size']} sentences, "
        f"{found['step_ms']['median']:.1f} ms; objectives forward and backward, {compiled}; "
        f"recording at every {found['record_every']}th step"
    )


def cells(one: dict[str, Any]) -> list[str]:
    """A contestant's row, in the order of COLUMNS."""
    compile_seconds, mib = one["compile_seconds"], one["peak_mib"]
    return [
        spread(one["step_ms"], 1),
        spread(one["ours_faster"], 2),
        f"{one['sentences_per_second']:,.0f}",
        duration(one["seconds_for_a_million"]),
        f"{one['share_of_peak']:.1%}",
        "" if compile_seconds is None else f"{compile_seconds:.0f}",
        "" if mib is None else f"{mib:,.0f}",
    ]


def overhead_cells(one: dict[str, Any]) -> list[str]:
    """An objective's row, in the order of OVERHEAD_COLUMNS."""
    return [
        spread(one["loss_ms"], 2),
        f"{one['loss_share']['median']:.2%}",
        spread(one["recording_ms"], 2),
        f"{one['recording_share']['median']:.2%}",
    ]


def spread(values: dict[str, Any], digits: int) -> str:
    """Median, least and greatest."""
    median, least, most = (f"{values[key]:.{digits}f}" for key in ("median", "min", "max"))
    return f"{median} ({least}-{most})"


def duration(seconds: float) -> str:
    """In seconds, minutes or hours."""
    for limit, unit, name in ((120.0, 1.0, "s"), (7200.0, 60.0, "min")):
        if seconds < limit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds / 3600:.1f} h"


def _contest(heading: str, size: dict[str, Any]) -> Table:
    table = _table(heading, COLUMNS)
    for name, one in size["contestants"].items():
        table.add_row(in_words(name), *cells(one))
    return table


def _overheads(heading: str, found: dict[str, Any]) -> Table:
    table = _table(heading, OVERHEAD_COLUMNS)
    for name, one in found["objectives"].items():
        table.add_row(name, *overhead_cells(one))
    return table


def _table(heading: str, columns: tuple[str, ...]) -> Table:
    table = Table(title=heading)
    table.add_column("")
    for name in columns:
        table.add_column(name, justify="right")
    return table
