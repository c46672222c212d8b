"""Embeddings beside the rows of their input, as one Parquet file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import parquet

from pipeline.embedding.parquet_source import ParquetSource
from pipeline.embedding.parts import changed_while_read
from pipeline.embedding.source import chunks
from pipeline.machine.errors import InputError
from pipeline.machine.files import writing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.embedding.parts import Parts
    from pipeline.embedding.source import Source

EMBEDDING = "embedding"


def check_columns(source: Source) -> None:
    """Refuse an input whose columns cannot stand beside the embeddings.

    Raises:
        InputError: one is called as they are, or files differ in their columns.
    """
    names = source.schema.names if isinstance(source, ParquetSource) else [source.column]
    if EMBEDDING in names:
        raise InputError(
            f"INPUT: a column is called {EMBEDDING!r} already, as the new one would be; rename "
            "it, or write .npy."
        )
    if isinstance(source, ParquetSource):
        source.check_alike()


def write_parquet(path: Path, source: Source, parts: Parts) -> None:
    """Read the input again and write its rows with their embeddings, a row group a chunk.

    Args:
        path: the file to write.
        source: the input; all columns of a Parquet input are carried over.
        parts: all its embeddings.

    Raises:
        InputError: the input has changed.
        WriteError: the file cannot be written.
    """
    kind = {"float32": pa.float32(), "float16": pa.float16()}[parts.plan.dtype]
    schema = _schema(source).append(pa.field(EMBEDDING, pa.list_(kind, parts.plan.dimension)))
    start = 0
    with (
        writing(parts.output, pa.ArrowException),
        parquet.ParquetWriter(path, schema) as writer,
    ):
        for batch in _batches(source, parts.plan.chunk):
            found = parts.read(start, batch.num_rows)
            if len(found) != batch.num_rows:
                raise changed_while_read()
            flat = pa.array(found.reshape(-1), kind)
            column = pa.FixedSizeListArray.from_arrays(flat, parts.plan.dimension)
            arrays = [*batch.columns, column]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
            start += batch.num_rows
    if start != parts.plan.sentences:
        raise changed_while_read()


def _schema(source: Source) -> pa.Schema:
    if isinstance(source, ParquetSource):
        return source.schema.remove_metadata()  # pandas' describes columns, and not the new one
    return pa.schema([(source.column, pa.string())])


def _batches(source: Source, rows: int) -> Iterator[pa.RecordBatch]:
    if isinstance(source, ParquetSource):
        yield from source.batches(rows)
        return
    for texts in chunks(source.texts(), rows):
        yield pa.RecordBatch.from_arrays([pa.array(texts, pa.string())], [source.column])
