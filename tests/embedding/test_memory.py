"""Memory is bounded by the chunk, however many rows there are."""

import gzip
import lzma
import tracemalloc
from collections.abc import Iterator

import pyarrow as pa
import pytest

from tests.embedding.lab import FakeEncoder, Run, write_parquet

ROWS = 60_000
SENTENCES = [
    f"a sentence that is as long as many are, and never quite the same as {row}"
    for row in range(ROWS)
]
MEGABYTE = 1 << 20


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


# Unpacking .xz takes the 8 MB that its packer looked back over, whatever the file's size.
@pytest.mark.parametrize(
    ("source", "output", "bound"), [("in.txt.gz", "out.npy", 4), ("in.tsv.xz", "out.parquet", 12)]
)
def test_python_holds_no_more_than_some_chunks(
    fake: FakeEncoder, run: Run, source: str, output: str, bound: int, traced: None
) -> None:
    pack = gzip.compress if source.endswith(".gz") else lzma.compress
    run.source, run.output = run.folder / source, run.folder / output
    run.source.write_bytes(pack("\n".join(["text", *SENTENCES]).encode()))
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    assert run("--chunk", "500") == 0
    peak = tracemalloc.get_traced_memory()[1] - before
    assert ROWS * fake.dimension * 4 > 14 * MEGABYTE
    assert peak < bound * MEGABYTE


def test_arrow_holds_no_more_than_some_chunks_of_one_large_row_group(
    fake: FakeEncoder, run: Run
) -> None:
    rows = pa.table({"text": SENTENCES, "more": SENTENCES})
    run.source = write_parquet(run.folder / "in.parquet", rows, row_group=ROWS)
    del rows
    before, peak = pa.total_allocated_bytes(), 0

    def watch() -> None:
        nonlocal peak
        peak = max(peak, pa.total_allocated_bytes() - before)

    fake.watch = watch
    assert run("--chunk", "500") == 0
    assert len(fake.seen) == ROWS / 500
    assert peak < 4 * MEGABYTE
