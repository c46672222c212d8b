"""A run's two tables, as CSV.

The curve has a row each time the dev score is measured; the dynamics have one at shorter intervals,
with the gradient's components and the geometry of a batch.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence

BATCH = (
    "dissipation",
    "hardest_share",
    "ratio",
    "alignment",
    "uniformity",
    "positive_cosine",
    "negative_cosine",
)
COLUMNS = ("step", "dev_spearman", "loss", *BATCH)
DYNAMICS = (
    "step",
    *BATCH,
    "positive_angle",
    "positive_angle_deviation",
    "negative_angle",
    "negative_angle_deviation",
)

Row = Mapping[str, float]


def rounded(row: Row, columns: Sequence[str] = COLUMNS) -> dict[str, float | None]:
    """Six digits after the point; None for what is undefined (no anchor was open)."""
    return {key: round(row[key], 6) if math.isfinite(row[key]) else None for key in columns}


def as_csv(rows: Sequence[Row], columns: Sequence[str] = COLUMNS) -> bytes:
    """The table's bytes; an undefined number is an empty field."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rounded(row, columns) for row in rows)
    return text.getvalue().encode()
