"""Transfer files are read as SentEval reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.machine.errors import InputError
from pipeline.senteval.transfer_readers import TransferData, read_transfer
from tests.real import REAL, SAMPLE, needs_real_data

if TYPE_CHECKING:
    from pathlib import Path

# Rows of each part, and how many of them have class 1.
PUBLISHED = {
    "MR": {"all": (10662, 5331)},
    "CR": {"all": (3775, 2407)},
    "SUBJ": {"all": (10000, 5000)},
    "MPQA": {"all": (10606, 3312)},
    "SST2": {"train": (67349, 37569), "dev": (872, 444), "test": (1821, 909)},
    "TREC": {"train": (5452, 1162), "test": (500, 138)},
    "MRPC": {"train": (4076, 2753), "test": (1725, 1147)},
}


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def mr(folder: Path, positive: bytes, negative: bytes) -> TransferData:
    files = {"MR/rt-polarity.pos": positive, "MR/rt-polarity.neg": negative}
    return read_transfer(write(folder, files), "MR")


@needs_real_data
@pytest.mark.parametrize("task", PUBLISHED)
def test_the_benchmark_has_its_published_rows(task: str) -> None:
    data = read_transfer(REAL, task)
    assert data.label == "benchmark"
    found = {part: (len(one), int((one.labels == 1).sum())) for part, one in data.parts.items()}
    assert found == PUBLISHED[task]


@pytest.mark.parametrize(
    ("task", "rows"), [("MR", {"all": 400}), ("TREC", {"train": 300, "test": 120})]
)
def test_the_sample_is_read_and_is_not_called_the_benchmark(
    task: str, rows: dict[str, int]
) -> None:
    data = read_transfer(SAMPLE, task)
    assert data.label == "other"
    assert {part: len(examples) for part, examples in data.parts.items()} == rows


def test_rows_are_sorted_by_tokens_then_label_and_else_stay_in_the_order_of_the_files(
    tmp_path: Path,
) -> None:
    examples = mr(tmp_path, b"c c\nb\na\n", b"z z\ny\nx x x\n").parts["all"]
    assert examples.sentences == (("y", "b", "a", "z z", "c c", "x x x"),)
    assert examples.labels.tolist() == [0, 1, 1, 0, 1, 0]


def test_bytes_that_are_not_utf8_are_latin1_and_only_newlines_end_a_line(tmp_path: Path) -> None:
    """0x85 is a line's end to str.splitlines and white space to str.split, in SentEval too."""
    examples = mr(tmp_path, b"caf\xe9 a\x0bb\n", b"one\x1ctwo\n").parts["all"]
    assert examples.sentences == (("one two", "café a b"),)


def test_an_empty_sentence_stays_as_a_full_stop_that_counts_no_token(tmp_path: Path) -> None:
    examples = mr(tmp_path, b"good\n\n", b"bad\n").parts["all"]
    assert examples.sentences == ((".", "bad", "good"),)
    assert examples.labels.tolist() == [1, 0, 1]


def test_subjects_class_1_is_the_objective_one(tmp_path: Path) -> None:
    files = {"SUBJ/subj.objective": b"a fact\n", "SUBJ/subj.subjective": b"an opinion of it\n"}
    examples = read_transfer(write(tmp_path, files), "SUBJ").parts["all"]
    assert examples.labels.tolist() == [1, 0]


def test_trec_has_six_coarse_classes_in_alphabetical_order(tmp_path: Path) -> None:
    lines = b"NUM:date When ?\nABBR:exp What is a b ?\nLOC:city Where is it ?\n"
    files = {"TREC/train_5500.label": lines, "TREC/TREC_10.label": b"HUM:ind Who : me ?\n"}
    parts = read_transfer(write(tmp_path, files), "TREC").parts
    assert parts["train"].labels.tolist() == [5, 4, 0]
    assert parts["train"].sentences == (("When ?", "Where is it ?", "What is a b ?"),)
    assert parts["test"].sentences == (("Who : me ?",),)
    assert parts["test"].labels.tolist() == [3]


def test_mrpc_has_a_header_and_quotes_that_are_text(tmp_path: Path) -> None:
    header = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n".encode()
    row = b'1\t10\t20\t" A quote , he said .\tHe said " a " quote .\r\n'
    short = b"0\t10\t20\tA b .\tC .\r\n"
    files = {
        "MRPC/msr_paraphrase_train.txt": header + row + short,
        "MRPC/msr_paraphrase_test.txt": header + short,
    }
    train = read_transfer(write(tmp_path, files), "MRPC").parts["train"]
    assert train.sentences == (
        ("A b .", '" A quote , he said .'),
        ("C .", 'He said " a " quote .'),
    )
    assert train.labels.tolist() == [0, 1]


def test_pairs_are_sorted_by_the_tokens_of_the_first_then_of_the_second(tmp_path: Path) -> None:
    rows = ("1\t1\t2\ta b\tc\n", "1\t1\t2\ta\tc d\n", "0\t1\t2\ta\tx y\n", "0\t1\t2\ta\tc d e\n")
    content = ("header\n" + "".join(rows)).encode()
    files = {f"MRPC/msr_paraphrase_{part}.txt": content for part in ("train", "test")}
    train = read_transfer(write(tmp_path, files), "MRPC").parts["train"]
    assert train.sentences == (("a", "a", "a", "a b"), ("x y", "c d", "c d e", "c"))
    assert train.labels.tolist() == [0, 1, 0, 1]


def test_sst2_has_a_label_after_a_tab(tmp_path: Path) -> None:
    files = {
        f"SST/binary/sentiment-{part}": "lovely\u2028it is \t1\nbad film\t0\n".encode()
        for part in ("train", "dev", "test")
    }
    parts = read_transfer(write(tmp_path, files), "SST2").parts
    assert list(parts) == ["train", "dev", "test"]
    assert parts["dev"].sentences == (("bad film", "lovely it is"),)
    assert parts["dev"].labels.tolist() == [0, 1]
    assert parts["dev"].labels.dtype == np.int64


# What is refused


def test_an_unknown_class_of_trec_is_refused(tmp_path: Path) -> None:
    files = {"TREC/train_5500.label": b"LOC:a b\nPLACE:a b\n", "TREC/TREC_10.label": b"LOC:a b\n"}
    message = r"train_5500\.label, line 2: 'PLACE:a' is not a class; it must start with one of ABBR"
    with pytest.raises(InputError, match=message):
        read_transfer(write(tmp_path, files), "TREC")


def test_a_line_without_its_columns_is_refused(tmp_path: Path) -> None:
    files = {
        "MRPC/msr_paraphrase_train.txt": b"header\n1\t1\t2\tonly one\n",
        "MRPC/msr_paraphrase_test.txt": b"header\n1\t1\t2\ta\tb\n",
    }
    with pytest.raises(
        InputError, match=r"train\.txt, line 2: 4 tab-separated columns, expected 5"
    ):
        read_transfer(write(tmp_path, files), "MRPC")


@pytest.mark.parametrize("label", ["2", "positive"])
def test_a_label_that_is_not_0_or_1_is_refused(tmp_path: Path, label: str) -> None:
    files = {
        f"SST/binary/sentiment-{part}": f"a\t0\nfilm\t{label}\n".encode()
        for part in ("train", "dev", "test")
    }
    with pytest.raises(InputError, match=f"sentiment-train, line 2: the label '{label}' must be 0"):
        read_transfer(write(tmp_path, files), "SST2")


def test_bytes_that_are_not_utf8_are_refused_where_senteval_reads_utf8(tmp_path: Path) -> None:
    files = {f"SST/binary/sentiment-{part}": b"caf\xe9\t0\n" for part in ("train", "dev", "test")}
    with pytest.raises(InputError, match="sentiment-train: byte 3 is not UTF-8"):
        read_transfer(write(tmp_path, files), "SST2")
