"""Memory is bounded by the chunk, however many rows there are."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.embedding.lab import FakeEncoder, embed, write_parquet, write_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = 60_000
SENTENCE = "a sentence that is as long as many are, and never quite the same as "
MEGABYTE = 1 << 20


def sentences() -> list[str]:
    return [f"{SENTENCE}{row}" for row in range(ROWS)]


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


# Unpacking .xz takes the 8 MB that its packer looked back over, whatever the file's size.
@pytest.mark.parametrize(
    ("source", "output", "bound"), [("in.txt.gz", "out.npy", 4), ("in.txt.xz", "out.parquet", 12)]
)
def test_python_holds_no_more_than_some_chunks(
    fake: FakeEncoder,
    tiny_bert: Path,
    tmp_path: Path,
    source: str,
    output: str,
    bound: int,
    traced: None,
) -> None:
    path = write_text(tmp_path / source, sentences())
    whole = ROWS * fake.dimension * 4
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    assert embed(path, tmp_path / output, tiny_bert, "--chunk", "500") == 0
    peak = tracemalloc.get_traced_memory()[1] - before
    assert whole > 14 * MEGABYTE
    assert peak < bound * MEGABYTE


def test_arrow_holds_no_more_than_some_chunks_of_one_large_row_group(
    fake: FakeEncoder, tiny_bert: Path, tmp_path: Path
) -> None:
    rows = pa.table({"text": sentences(), "more": sentences()})
    path = write_parquet(tmp_path / "in.parquet", rows, row_group=ROWS)
    del rows
    before, peak = pa.total_allocated_bytes(), 0

    def watch() -> None:
        nonlocal peak
        peak = max(peak, pa.total_allocated_bytes() - before)

    fake.watch = watch
    assert embed(path, tmp_path / "out.npy", tiny_bert, "--chunk", "500") == 0
    assert len(fake.seen) == ROWS / 500
    assert peak < 4 * MEGABYTE
