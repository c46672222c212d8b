"""The embedded sample as the page uses it: graded pairs, and sentences to begin with.

Both are empty where the page runs without the project's data/sample.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PLACE = Path(__file__).parents[1] / "data" / "sample"


@dataclass(frozen=True)
class GradedPair:
    """Two sentences and how alike people find them, 0 to 5."""

    first: str
    second: str
    gold: float


@cache
def graded_pairs() -> tuple[GradedPair, ...]:
    """The test pairs, in the layout of the STS Benchmark: tabs between columns, no quoting."""
    rows = [line.split("\t") for line in _lines(_PLACE / "STS" / "STSBenchmark" / "sts-test.csv")]
    return tuple(GradedPair(row[5], row[6], float(row[4])) for row in rows)


@cache
def sentences(count: int) -> tuple[str, ...]:
    """So many sentences of the corpus, evenly spread over it."""
    lines = _lines(_PLACE / "corpus.txt")
    count = min(count, len(lines))
    return tuple(lines[index * len(lines) // count] for index in range(count))


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
