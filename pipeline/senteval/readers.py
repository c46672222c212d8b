r"""Readers of SentEval's files: graded pairs for the STS tasks, labelled sentences for the others.

Lines end at "\n" and columns at a tab, nothing else: a sentence may hold quotes, U+2028 or "\x85",
on which csv.reader and str.splitlines() would lose or split rows.

The transfer tasks are read as SentEval reads them: MR, CR, SUBJ, MPQA and TREC in latin-1, SST2 and
MRPC in UTF-8. Sentences are tokens between white space; empty ones stay, as ".". Each part is
sorted by number of tokens and label; where these are equal, the order of the files counts.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.machine.errors import InputError

Example = tuple[tuple[list[str], ...], int]  # tokens of one or two sentences, label

TREC_CLASSES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")


@dataclass(frozen=True)
class Pairs:
    """Graded sentence pairs: `first[k]` and `second[k]` have the similarity `gold[k]`."""

    name: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    gold: np.ndarray  # (N,) float64

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True)
class Examples:
    """Sentences, or pairs of them, with their labels."""

    sentences: tuple[tuple[str, ...], ...]  # N sentences, or two times N that make pairs
    labels: np.ndarray  # (N,) classes counted from 0

    def __len__(self) -> int:
        return len(self.labels)


def make_pairs(name: str, rows: list[tuple[str, str, float]], path: Path) -> Pairs:
    """The rows of a file as columns.

    Raises:
        InputError: They have not two different scores.
    """
    if len({score for _, _, score in rows}) < 2:
        raise InputError(
            f"{path}: {len(rows)} scored pairs without two different scores; "
            "a rank correlation needs at least two, so restore the file."
        )
    first, second, gold = zip(*rows, strict=True)
    return Pairs(name, first, second, np.array(gold, dtype=np.float64))


def join_pairs(name: str, subsets: Sequence[Pairs]) -> Pairs:
    """All pairs of some subsets, one after the other."""
    return Pairs(
        name,
        tuple(sentence for pairs in subsets for sentence in pairs.first),
        tuple(sentence for pairs in subsets for sentence in pairs.second),
        np.concatenate([pairs.gold for pairs in subsets]),
    )


# Graded pairs


def read_subsets(folder: Path, names: Sequence[str]) -> tuple[Pairs, ...]:
    """STS12 to STS16: `STS.input.*.txt` with two columns, `STS.gs.*.txt` beside it.

    An empty gold line means that nobody scored the pair (most of STS15 and STS16): it is left out.
    """
    return tuple(_read_subset(folder, name) for name in names)


def _read_subset(folder: Path, name: str) -> Pairs:
    input_path = folder / f"STS.input.{name}.txt"
    gold_path = folder / f"STS.gs.{name}.txt"
    sentences, gold = _lines(input_path), _lines(gold_path)
    if len(sentences) != len(gold):
        raise InputError(
            f"{input_path} has {len(sentences)} lines and {gold_path.name} has {len(gold)}; "
            "each pair needs one gold line (empty if unscored): fetch the data again."
        )
    rows = []
    for number, (line, score) in enumerate(zip(sentences, gold, strict=True), start=1):
        if score.strip():
            first, second, *_ = _columns(line, 2, input_path, number)
            rows.append((first, second, read_score(score, gold_path, number)))
    return make_pairs(name, rows, gold_path)


def read_sts_benchmark(path: Path) -> Pairs:
    """STS Benchmark: no header, the score in the fifth column, then the two sentences."""
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
    required = ("sentence_A", "sentence_B", "relatedness_score")
    header, *lines = _lines(path) or [""]
    names = header.split("\t")
    if absent := [name for name in required if name not in names]:
        raise InputError(
            f"{path}, line 1: the header lacks {', '.join(absent)}; "
            f"it must name {', '.join(required)}, separated by tabs."
        )
    first, second, score = map(names.index, required)
    rows = []
    for number, line in enumerate(lines, start=2):
        columns = _columns(line, len(names), path, number)
        rows.append((columns[first], columns[second], read_score(columns[score], path, number)))
    return make_pairs("test", rows, path)


def read_score(text: str, path: Path, number: int) -> float:
    """A gold score as a number.

    Raises:
        InputError: It is none, or not finite.
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


# Labelled sentences


def read_binary(folder: Path, positive: str, negative: str) -> dict[str, Examples]:
    """MR, CR, SUBJ and MPQA: a file of sentences for class 1 and one for class 0."""
    return {
        "all": _sorted(
            ((line.split(),), label)
            for name, label in ((positive, 1), (negative, 0))
            for line in _lines(folder / name, "latin-1")
        )
    }


def read_trec(folder: Path) -> dict[str, Examples]:
    """TREC: lines such as `LOC:city What city ...`, coarse class, fine class and question."""
    files = {"train": "train_5500.label", "test": "TREC_10.label"}
    return {part: _sorted(_trec_lines(folder / name)) for part, name in files.items()}


def _trec_lines(path: Path) -> Iterator[Example]:
    for number, line in enumerate(_lines(path, "latin-1"), start=1):
        classes, _, question = line.strip().partition(" ")
        coarse = classes.partition(":")[0]
        if coarse not in TREC_CLASSES or ":" not in classes:
            raise InputError(
                f"{path}, line {number}: {classes[:20]!r} is not a class; "
                f"it must start with one of {', '.join(TREC_CLASSES)} and a colon."
            )
        yield (question.split(),), TREC_CLASSES.index(coarse)


def read_sst2(folder: Path) -> dict[str, Examples]:
    """SST2: a sentence and its label."""
    return {
        part: _sorted(_sst2_lines(folder / f"sentiment-{part}"))
        for part in ("train", "dev", "test")
    }


def _sst2_lines(path: Path) -> Iterator[Example]:
    for number, line in enumerate(_lines(path), start=1):
        sentence, label, *_ = _columns(line.strip(), 2, path, number)
        yield (sentence.split(),), _label(label, path, number)


def read_mrpc(folder: Path) -> dict[str, Examples]:
    """MRPC: a header, then label, two numbers and two sentences, in which quotes are text."""
    return {
        part: _sorted(_mrpc_lines(folder / f"msr_paraphrase_{part}.txt"))
        for part in ("train", "test")
    }


def _mrpc_lines(path: Path) -> Iterator[Example]:
    for number, line in enumerate(_lines(path)[1:], start=2):
        label, _, _, first, second, *_ = _columns(line.strip(), 5, path, number)
        yield (first.split(), second.split()), _label(label, path, number)


def _sorted(examples: Iterable[Example]) -> Examples:
    """In SentEval's order before it makes folds: by the numbers of tokens, then the label."""
    ordered = sorted(
        examples, key=lambda example: ([len(tokens) for tokens in example[0]], example[1])
    )
    sentences = zip(*(sample for sample, _ in ordered), strict=True)
    return Examples(
        sentences=tuple(tuple(" ".join(tokens or ["."]) for tokens in side) for side in sentences),
        labels=np.array([label for _, label in ordered], dtype=np.int64),
    )


def _label(text: str, path: Path, number: int) -> int:
    if text not in {"0", "1"}:
        raise InputError(f"{path}, line {number}: the label {text!r} must be 0 or 1.")
    return int(text)


# Lines and columns


def _lines(path: Path, encoding: str = "utf-8") -> list[str]:
    try:
        text = path.read_bytes().decode(encoding)
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
