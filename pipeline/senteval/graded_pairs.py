"""Graded sentence pairs of one's own: a .csv or .tsv file with a header.

    sentence1,sentence2,score
    A man is playing a guitar.,Somebody makes music.,3.4

A `.csv` file quotes as spreadsheets do; in a `.tsv` file tabs end columns and nothing is quoted.
Scores may have any range. A column `split` may say which pairs are `dev`, for scores during
training; other columns are ignored.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

from pipeline.machine.errors import InputError
from pipeline.senteval.known import check_folder
from pipeline.senteval.readers import (
    Pairs,
    is_sts_benchmark,
    join_pairs,
    make_pairs,
    read_score,
    read_sts_benchmark,
)

COLUMNS = ("sentence1", "sentence2", "score")
KINDS = (".csv", ".tsv")


def read_table(path: Path) -> tuple[Pairs, ...]:
    """Pairs by their split, in the file's order; one subset `all` if no column says the split.

    Raises:
        InputError: the file is missing, is no such table, or holds too little.
    """
    rows: dict[str, list[tuple[str, str, float]]] = {}
    for number, row in _rows(path):
        sentences = (row["sentence1"], row["sentence2"])
        if not all(sentence.strip() for sentence in sentences):
            raise InputError(f"{path}, line {number}: a sentence is empty; remove the line.")
        score = read_score(row["score"], path, number)
        rows.setdefault(row.get("split", "all"), []).append((*sentences, score))
    if not rows:
        raise InputError(f"{path} holds no pair below its header; give pairs with scores.")
    return tuple(make_pairs(split, of_split, path) for split, of_split in rows.items())


def read_dev(path: Path) -> Pairs:
    """The pairs that are scored during training.

    They are those of SentEval's folder, or of its `sts-dev.csv`; or of a table the `dev` pairs, or
    all pairs where none is marked.

    Raises:
        InputError: the file is missing, malformed, or holds too little.
    """
    if path.is_dir():
        check_folder(path)
        return read_sts_benchmark(path / "STS" / "STSBenchmark" / "sts-dev.csv")
    if is_sts_benchmark(path):
        return read_sts_benchmark(path)
    subsets = {pairs.name: pairs for pairs in read_table(path)}
    return subsets["dev"] if "dev" in subsets else join_pairs(path.stem, list(subsets.values()))


def without(subsets: tuple[Pairs, ...], excluded: Pairs, path: Path) -> tuple[Pairs, ...]:
    """The pairs that are not among those which picked an encoder's step.

    Raises:
        InputError: too few are left to be scored.
    """
    excluded_pairs = set(zip(excluded.first, excluded.second, strict=True))
    remaining = []
    for pairs in subsets:
        rows = zip(pairs.first, pairs.second, pairs.gold.tolist(), strict=True)
        rest = [row for row in rows if row[:2] not in excluded_pairs]
        if rest:
            remaining.append(make_pairs(pairs.name, rest, path))
    if not remaining:
        raise InputError(
            f"{path}: all its pairs picked the encoder's step, so none are left to measure it; set "
            "train.keep to last, or mark some pairs as dev in a column named split."
        )
    return tuple(remaining)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Each line's number and columns by their name."""
    if path.suffix not in KINDS:
        raise InputError(f"{path} is no .csv or .tsv file of graded pairs; give one.")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            if path.suffix == ".csv":
                reader = csv.reader(file, strict=True)
            else:
                reader = csv.reader(file, "excel-tab", quoting=csv.QUOTE_NONE)
            header = next(reader, [])
            if absent := [name for name in COLUMNS if name not in header]:
                raise InputError(
                    f"{path}, line 1: the header lacks {', '.join(absent)}; it must name "
                    f"{', '.join(COLUMNS)}."
                )
            for row in reader:
                if len(row) != len(header):
                    raise InputError(
                        f"{path}, line {reader.line_num}: {len(row)} columns, but the header has "
                        f"{len(header)}; correct the line."
                    )
                yield reader.line_num, dict(zip(header, row, strict=True))
    except FileNotFoundError:
        raise InputError(f"{path} is missing; give a file of graded pairs.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8; save it as UTF-8.") from None
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}; correct the line.") from None
