"""What benchmarks share: spreads over rounds, tables, the sample, the machine, their options."""

import argparse
import json
import lzma
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.machine import stage
from pipeline.machine.cores import processor, usable_cores

ROOT = Path(__file__).parents[1]


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Each round's value, with their median, minimum and maximum."""
    return {
        "rounds": [float(value) for value in values],
        "median": float(np.median(values)),
        "min": float(min(values)),
        "max": float(max(values)),
    }


def ratios(values: Iterable[float], others: Iterable[float]) -> dict[str, Any]:
    """Of values to others of the same round, since rounds differ in what else the machine does."""
    return spread([value / other for value, other in zip(values, others, strict=True)])


def shown(spread: Mapping[str, Any], digits: int) -> str:
    """`median (min to max)`."""
    median, low, high = (f"{spread[key]:.{digits}f}" for key in ("median", "min", "max"))
    return f"{median} ({low} to {high})"


def parser(name: str, description: str) -> argparse.ArgumentParser:
    """Of `python -m benchmarks.NAME`, with the options that `write` reads."""
    options = stage.parser(f"benchmarks.{name}", description)
    options.add_argument("--out", type=Path, help="JSON file of all figures")
    options.add_argument("--markdown", type=Path, help="file of what is printed")
    return options


def write(options: argparse.Namespace, result: Mapping[str, Any], markdown: str) -> None:
    """Figures and tables into the files that are asked for."""
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(markdown, encoding="utf-8")


def say(line: str) -> None:
    """Progress, beside the report."""
    print(line, file=sys.stderr, flush=True)


def machine(*packages: str) -> dict[str, Any]:
    """Processor, cores, the versions of packages that are installed, and the date."""
    installed = {package.name: package.version for package in metadata.distributions()}
    return {
        "cpu": processor(),
        "cores": usable_cores(),
        "avx512_bf16": " avx512_bf16 " in Path("/proc/cpuinfo").read_text(encoding="utf-8"),
        "versions": {name: installed[name] for name in packages if name in installed},
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def sentences() -> list[str]:
    """The sentences of the sample."""
    packed = (ROOT / "data" / "sample" / "wiki.txt.xz").read_bytes()
    return lzma.decompress(packed).decode().splitlines()
