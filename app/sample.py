"""Graded captions of data/sample as the page uses them: pairs, and sentences to begin with.

Both are empty where the page runs without that file.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).parents[1] / "data" / "sample" / "stsb_captions.tsv"


@dataclass(frozen=True)
class GradedPair:
    """Two sentences and how alike people find them, 0 to 5."""

    first: str
    second: str
    gold: float


@cache
def graded_pairs() -> tuple[GradedPair, ...]:
    """Its test pairs; tabs stand between columns, nothing is quoted."""
    text = _FILE.read_text(encoding="utf-8") if _FILE.is_file() else ""
    rows = [line.split("\t") for line in text.split("\n")]
    return tuple(GradedPair(row[3], row[4], float(row[2])) for row in rows if row[0] == "test")


@cache
def sentences(count: int) -> tuple[str, ...]:
    """So many different sentences, evenly spread over the pairs."""
    different = list(dict.fromkeys(pair.first for pair in graded_pairs()))
    count = min(count, len(different))
    return tuple(different[index * len(different) // count] for index in range(count))
