"""The benchmark's report as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType


def report(result: dict[str, Any]) -> Iterator[RenderableType]:
    """What is printed, from top to bottom."""
    yield _machine(result)
    yield from _not_run(result)
    for load in result["loads"]:
        yield _load(result, load)
    yield _others(result)
    yield from _not_run(result)
    for problem in result["problems"]:
        yield f"[bold red]PROBLEM[/] {escape(problem)}"


def _machine(result: dict[str, Any]) -> str:
    machine, texts = result["machine"], result["texts"]
    lines = [machine["versions"], result["infinity_versions"] or {}]
    versions, infinity = (
        ", ".join(f"{name} {version}" for name, version in line.items()) for line in lines
    )
    return (
        f"{machine['cpu']}, {machine['cores']} cores, "
        f"avx512_bf16 {'yes' if machine['avx512_bf16'] else 'no'}, {machine['date']}; {versions}\n"
        f"infinity's environment: {infinity or 'none'}\n"
        f"{texts['count']} different texts, {texts['mean_tokens']:.1f} tokens on average "
        f"({texts['least_tokens']} to {texts['most_tokens']}); "
        f"{result['rounds']} rounds of {result['seconds']:g} s a cell, "
        f"{result['lead_in']:g} s of the same load before each"
    )


def _not_run(result: dict[str, Any]) -> Iterator[str]:
    for name, reason in result["not_run"].items():
        yield f"[bold red]NOT RUN[/] {name}: {escape(reason)}"


def _load(result: dict[str, Any], load: str) -> Table:
    clients, size = load.split("x")
    table = Table(title=f"{clients} clients x {size} texts; median (least-greatest) of rounds")
    table.add_column("subject")
    for name in (
        "texts/s",
        "/ encode",
        "CPU ms/text",
        "/ in process",
        "p50 ms",
        "p99 ms",
        "p99 / p50",
        "p50 / encode",
        "failures",
        "cores elsewhere",
        "stolen",
    ):
        table.add_column(name, justify="right")
    for subject, cells in result["cells"].items():
        cell = cells[load]
        calls = subject == "encode" and load != "1x1"  # its calls are no requests
        latencies = ["", "", "", ""]
        if not calls:
            latency = cell["latency_ms"]
            latencies = [f"{latency['p50']:.2f}", f"{latency['p99']:.2f}"]
            latencies += [f"{cell['p99_to_p50']:.2f}"]
            latencies += [f"{cell['p50_to_encode']:.3f}" if load == "1x1" else ""]
        table.add_row(
            subject,
            _spread(cell["texts_per_second"], 1),
            _spread(cell["to_encode"], 2),
            _spread(cell["cpu_ms_per_text"], 2),
            _spread(cell["cpu_to_in_process"], 2) if "cpu_to_in_process" in cell else "",
            *latencies,
            str(cell["failures"]),
            f"{cell['elsewhere_cores']:.2f}",
            f"{cell['stolen_cores']:.2f}",
        )
    return table


def _others(result: dict[str, Any]) -> Table:
    table = Table(title="Besides", show_header=False)
    table.add_column()
    table.add_column()
    for subject, cosine in result["agreement"].items():
        table.add_row(f"least cosine of {subject} with encode", f"{cosine:.7f}")
    if result["in_process_cpu_ms"]:
        table.add_row("CPU ms/text in process", _spread(result["in_process_cpu_ms"], 2))
    for subject, times in result["times_through_texts"].items():
        table.add_row(f"texts that {subject} got, / different texts", f"{times:.2f}")
    if mini := result["mini"]:
        every = ", ".join(f"{one:.2f}" for one in mini["start_seconds"]["rounds"])
        table.add_row("start to ready, two mini encoders, s", every)
        table.add_row("memory idle, MiB (PSS of all processes)", f"{mini['idle_mib']:.0f}")
        table.add_row("memory after warm-up, MiB (PSS)", f"{mini['warm_mib']:.0f}")
    return table


def _spread(values: dict[str, Any], digits: int) -> str:
    median, least, most = (f"{values[key]:.{digits}f}" for key in ("median", "min", "max"))
    return f"{median} ({least}-{most})"
