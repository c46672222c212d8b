"""The training curve: one row of numbers each time the dev score is measured, as CSV."""

import csv
import io
import math
from collections.abc import Mapping, Sequence

COLUMNS = (
    "step",
    "dev_spearman",
    "loss",
    "dissipation",
    "hardest_share",
    "ratio",
    "alignment",
    "uniformity",
    "positive_cosine",
    "negative_cosine",
)

Row = Mapping[str, float]


def rounded(row: Row) -> dict[str, float | None]:
    """Six digits after the point; None for what is undefined (no anchor was open)."""
    return {key: round(row[key], 6) if math.isfinite(row[key]) else None for key in COLUMNS}


def as_csv(rows: Sequence[Row]) -> bytes:
    """The curve file's bytes; an undefined number is an empty field."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rounded(row) for row in rows)
    return text.getvalue().encode()
