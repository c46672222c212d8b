r"""Readers of graded sentence pairs in SentEval's file layout.

Lines end at "\n" and columns at a tab, nothing else: a sentence may hold quotes, U+2028 or "\x85",
on which csv.reader and str.splitlines() would lose or split rows. No scoring here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from pipeline.machine.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

Split = Literal["train", "dev", "test"]


@dataclass(frozen=True)
class Pairs:
    """Graded sentence pairs: `first[k]` and `second[k]` have the similarity `gold[k]`."""

    name: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    gold: np.ndarray  # (N,) float64

    def __len__(self) -> int:
        return len(self.first)


def check_folder(data: Path) -> None:
    """Refuses what is not SentEval's `downstream` folder, and names that where it lies below.

    Raises:
        InputError: `data` is no folder, or the tasks' folders are in `downstream` below it.
    """
    inner = data / "downstream"
    if not data.is_dir():
        raise InputError(f"data: {data} is not a folder; give SentEval's `downstream` folder.")
    if not (data / "STS").is_dir() and (inner / "STS").is_dir():
        raise InputError(f"data: {data} holds no STS/, but {inner} does; give {inner}.")


def read_gold_and_input(folder: Path, subset: str) -> Pairs:
    """One subset of STS12 to STS16: `STS.input.*.txt` with two columns, `STS.gs.*.txt` beside it.

    An empty gold line means that nobody scored the pair (most of STS15 and STS16): it is left out.
    """
    input_path = folder / f"STS.input.{subset}.txt"
    gold_path = folder / f"STS.gs.{subset}.txt"
    sentences, gold = _lines(input_path), _lines(gold_path)
    if len(sentences) != len(gold):
        raise InputError(
            f"{input_path} has {len(sentences)} lines and {gold_path.name} has {len(gold)}; "
            "each pair needs one gold line (empty if unscored): fetch the data again."
        )
    rows = []
    for number, (line, score) in enumerate(zip(sentences, gold, strict=True), start=1):
        if score.strip():
            columns = _columns(line, 2, input_path, number)
            rows.append((columns[0], columns[1], read_score(score, gold_path, number)))
    return make_pairs(subset, rows, gold_path)


def read_sts_benchmark(data: Path, split: Split) -> Pairs:
    """STS Benchmark: no header, the score in the fifth column, then the two sentences.

    Args:
        data: The folder that holds STS/ and its like: SentEval's `downstream`.
        split: Which of `sts-train.csv`, `sts-dev.csv` and `sts-test.csv` to read.

    Raises:
        InputError: The file is absent, empty or malformed.
    """
    check_folder(data)
    return read_sts_benchmark_file(data / "STS" / "STSBenchmark" / f"sts-{split}.csv")


def read_sts_benchmark_file(path: Path) -> Pairs:
    """One file of STS Benchmark: see `read_sts_benchmark`."""
    rows = []
    for number, line in enumerate(_lines(path), start=1):
        columns = _columns(line, 7, path, number)
        rows.append((columns[5], columns[6], read_score(columns[4], path, number)))
    return make_pairs(path.stem.removeprefix("sts-"), rows, path)


def is_sts_benchmark(path: Path) -> bool:
    """Whether a file begins as those of STS Benchmark do: seven columns, a score in the fifth."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        columns = file.readline().split(b"\t")
    try:
        float(columns[4])
    except (IndexError, ValueError):
        return False
    return len(columns) >= 7


def read_sick(path: Path) -> Pairs:
    """SICK relatedness: columns are found by the names in the header."""
    wanted = ("sentence_A", "sentence_B", "relatedness_score")
    lines = _lines(path)
    header = lines[0].split("\t") if lines else []
    absent = [name for name in wanted if name not in header]
    if absent:
        raise InputError(
            f"{path}, line 1: the header lacks {', '.join(absent)}; "
            f"it must name {', '.join(wanted)}, separated by tabs."
        )
    first, second, score = (header.index(name) for name in wanted)
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        columns = _columns(line, len(header), path, number)
        rows.append((columns[first], columns[second], read_score(columns[score], path, number)))
    return make_pairs("test", rows, path)


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise InputError(f"{path} is missing; restore it from SentEval's data.") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: byte {error.start} is not UTF-8; restore the file as SentEval has it."
        ) from None
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()  # what follows the last line's end is not a line
    return [line.removesuffix("\r") for line in lines]


def _columns(line: str, least: int, path: Path, number: int) -> list[str]:
    columns = line.split("\t")
    if len(columns) < least:
        raise InputError(
            f"{path}, line {number}: {len(columns)} tab-separated columns, expected {least}; "
            "restore the file as SentEval has it."
        )
    return columns


def read_score(text: str, path: Path, number: int) -> float:
    """A gold score as a number.

    Raises:
        InputError: it is none, or not finite.
    """
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise InputError(
            f"{path}, line {number}: the score {text!r} is not a finite number; correct the line."
        )
    return score


def make_pairs(name: str, rows: list[tuple[str, str, float]], path: Path) -> Pairs:
    """The rows of a file as columns.

    Raises:
        InputError: they have not two different scores.
    """
    if len({score for _, _, score in rows}) < 2:
        raise InputError(
            f"{path}: {len(rows)} scored pairs without two different scores; "
            "a rank correlation needs at least two, so restore the file."
        )
    first, second, gold = zip(*rows, strict=True)
    return Pairs(name, first, second, np.array(gold, dtype=np.float64))
