"""Embeddings beside the rows of their input, as one Parquet file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from pipeline.data.rows import is_parquet, open_parquet
from pipeline.embedding.source import Source
from pipeline.embedding.unfinished import Unfinished, changed_while_read
from pipeline.machine.errors import InputError
from pipeline.machine.files import writing

_EMBEDDING = "embedding"


def output_schema(source: Source) -> pa.Schema:
    """Columns that stand beside the embeddings: a Parquet input's, else the sentences'.

    Raises:
        InputError: one is called as the embeddings are, or files differ in their columns.
    """
    schema = pa.schema([(source.column, pa.string())])
    if is_parquet(source.files[0]):
        schema, *others = map(_schema, source.files)
        for file, other in zip(source.files[1:], others, strict=True):
            if not other.equals(schema):
                raise InputError(
                    f"INPUT: {file} has other columns or types than {source.files[0]}; make "
                    "them alike, or write .npy, which needs the sentences alone."
                )
    if _EMBEDDING in schema.names:
        raise InputError(
            f"INPUT: a column is called {_EMBEDDING!r} already, as the new one would be; rename "
            "it, or write .npy."
        )
    return schema


def write_parquet(source: Source, unfinished: Unfinished) -> Path:
    """Read the input again and write its rows with their embeddings, a row group a chunk.

    All columns of a Parquet input are carried over. Returns the file, beside the embeddings.

    Raises:
        InputError: the input has changed.
        WriteError: the file cannot be written.
    """
    path = unfinished.folder / "whole"
    sentences, dimension = unfinished.shape
    embeddings = np.load(unfinished.array, mmap_mode="r")
    kind = pa.from_numpy_dtype(unfinished.dtype)
    schema = output_schema(source).append(pa.field(_EMBEDDING, pa.list_(kind, dimension)))
    start = 0
    with (
        writing(unfinished.output, pa.ArrowException),
        parquet.ParquetWriter(path, schema) as writer,
    ):
        for columns in _columns(source, unfinished.chunk):
            stop = start + len(columns[0])
            if stop > sentences:
                raise changed_while_read()
            flat = pa.array(embeddings[start:stop].reshape(-1), kind)
            arrays = [*columns, pa.FixedSizeListArray.from_arrays(flat, dimension)]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
            start = stop
    if start != sentences:
        raise changed_while_read()
    return path


@contextmanager
def _opened(file: Path) -> Iterator[parquet.ParquetFile]:
    try:
        with open_parquet(file) as reader:
            yield reader
    except InputError as error:
        raise InputError(f"INPUT: {file} {error}.") from error


def _schema(file: Path) -> pa.Schema:
    with _opened(file) as reader:
        # Without pandas' description of the columns, which lacks the new one.
        return reader.schema_arrow.remove_metadata()


def _columns(source: Source, rows: int) -> Iterator[list[pa.Array]]:
    """The input's columns, at most so many rows at a time."""
    if not is_parquet(source.files[0]):
        yield from ([pa.array(texts, pa.string())] for texts in source.chunks(rows))
        return
    for file in source.files:
        with _opened(file) as reader:
            for batch in reader.iter_batches(batch_size=rows, use_threads=False):
                yield batch.columns
