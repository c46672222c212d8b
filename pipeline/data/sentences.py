"""A corpus: the distinct sentences of a local file, or of one on the hub; which are held out."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pipeline.data import hub
from pipeline.data.rows import check_exists, check_format, read_rows
from pipeline.machine.errors import InputError


@dataclass(frozen=True)
class Corpus:
    """Distinct, non-empty sentences in the order of their first appearance."""

    sentences: list[str]
    rows: int  # read, empty ones and duplicates included
    empty: int  # dropped because nothing but whitespace stood in them, or null
    duplicates: int  # dropped because the same stripped sentence came earlier


def read(source: str, *, revision: str | None, column: str) -> Corpus:
    """Read every sentence of a source, stripped of surrounding whitespace.

    Args:
        source: A local file of a format that rows.py reads, or
            `hf://datasets/<owner>/<name>/<file>`.
        revision: Commit, branch or tag of a data set on the hub; None is its main branch.
        column: The column of records that holds the sentence.

    Raises:
        InputError: If there is no such source, it is damaged, or no sentence is in it.
    """
    name = f"corpus.source: {source!r}"
    path = _locate(source, revision, name)
    sentences: dict[str, None] = {}  # whole strings, not hashes: exact, ordered, and no second copy
    rows = empty = 0
    for row in read_rows(path, column, name, "corpus.column"):
        rows += 1
        sentence = row.strip() if row else ""
        if sentence:
            sentences[sentence] = None
        else:
            empty += 1
    if not sentences:
        what = f"has {rows} rows and all of them are empty" if rows else "is empty"
        raise InputError(f"{name} {what}; give a file with one sentence a row.")
    return Corpus(list(sentences), rows, empty, rows - empty - len(sentences))


def choose_held_out(count: int, share: float, seed: int, batch: int) -> npt.NDArray[np.bool_]:
    """Which of so many sentences are kept from training, (count,).

    Raises:
        InputError: The others are fewer than one batch.
    """
    held = np.zeros(count, np.bool_)
    held_out = np.random.default_rng(seed).permutation(count)[: round(count * share)]
    held[held_out] = True
    if count - len(held_out) < batch:
        raise InputError(
            f"corpus.source: {count} distinct sentences, {len(held_out)} of them held out, are "
            f"fewer than one batch of {batch}; give more text or a smaller train.batch_size."
        )
    return held


def _locate(source: str, revision: str | None, name: str) -> Path:
    path = Path(source)
    if "://" in source:
        check_format(path, name)  # before a download
        return hub.fetch(name, source, revision)
    if revision is not None:
        raise InputError(
            f"corpus.revision: {revision!r} was given, but only hf://datasets/ sources have "
            f"revisions and corpus.source is {source!r}; set corpus.revision to null."
        )
    if path.is_dir():
        raise InputError(f"{name} is a folder; name one file in it.")
    check_exists(path, name)
    check_format(path, name)
    return path
