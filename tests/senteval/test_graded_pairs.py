"""Tables of graded pairs: what is read, what is refused, and which pairs are the dev pairs."""

from pathlib import Path

import numpy as np
import pytest

from pipeline.machine.errors import InputError
from pipeline.senteval import evaluate
from pipeline.senteval.graded_pairs import read_dev, read_table, without
from tests.real import SAMPLE
from tests.tiny import ROOT

CAPTIONS = ROOT / "data" / "sample" / "stsb_captions.tsv"
HEADER = "sentence1,sentence2,score\n"


def write(folder: Path, text: str, name: str = "pairs.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_columns_are_found_by_their_names(tmp_path: Path) -> None:
    (pairs,) = read_table(write(tmp_path, "score,id,sentence2,sentence1\n1,x,b,a\n2.5,y,d,c\n"))
    assert (pairs.name, pairs.first, pairs.second) == ("all", ("a", "c"), ("b", "d"))
    assert pairs.gold.tolist() == [1.0, 2.5]


@pytest.mark.parametrize(
    ("name", "line", "sentence"),
    [
        ("pairs.csv", '"He said ""no"", twice",b,1', 'He said "no", twice'),
        ("pairs.csv", '"two\nlines",b,1', "two\nlines"),
        ("pairs.csv", "one\u2028line,b,1", "one\u2028line"),
        ("pairs.tsv", 'a "quoted word\tb\t1', 'a "quoted word'),
        ("pairs.tsv", "one\x85line, still\tb\t1", "one\x85line, still"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_sentences_are_read_as_spreadsheets_write_them(
    tmp_path: Path, name: str, line: str, sentence: str, end: str, mark: str
) -> None:
    separator = "," if name.endswith(".csv") else "\t"
    header, last = separator.join(["sentence1", "sentence2", "score"]), f"c{separator}d{separator}2"
    (pairs,) = read_table(write(tmp_path, mark + end.join([header, line, last, ""]), name))
    assert pairs.first == (sentence, "c")


REFUSED = {
    "the header lacks sentence2, score": "sentence1,b\na,b\n",
    "line 3: 2 columns, but the header has 3": f"{HEADER}a,b,1\nc,d\n",
    "line 2: the score 'high' is not a finite number": f"{HEADER}a,b,high\n",
    "line 2: the score 'nan' is not a finite number": f"{HEADER}a,b,nan\n",
    "line 2: a sentence is empty": f"{HEADER} ,b,1\n",
    "holds no pair below its header": HEADER,
    "line 1: the header lacks": "",
    "2 scored pairs without two different scores": f"{HEADER}a,b,1\nc,d,1\n",
    "line 2: unexpected end of data": f'{HEADER}"a,b,1\n',
}


@pytest.mark.parametrize(("message", "text"), REFUSED.items())
def test_what_is_no_table_is_refused_with_its_place(
    tmp_path: Path, message: str, text: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_table(write(tmp_path, text))


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent.csv is missing"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(InputError, match=r"pairs.xlsx is no .csv or .tsv file"):
        read_table(write(tmp_path, HEADER, "pairs.xlsx"))
    (tmp_path / "latin.csv").write_bytes(f"{HEADER}caf\xe9,b,1\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"byte 29 is not UTF-8"):
        read_table(tmp_path / "latin.csv")


def test_the_captions_are_a_part_of_sts_b_by_split() -> None:
    subsets = read_table(CAPTIONS)
    assert {pairs.name: len(pairs) for pairs in subsets} == {"train": 1000, "dev": 375, "test": 375}
    golds = np.concatenate([pairs.gold for pairs in subsets])
    assert (golds.min(), golds.max()) == (0.0, 5.0)


def test_dev_pairs_are_marked_or_all_or_those_of_sts_b(tmp_path: Path) -> None:
    assert len(read_dev(CAPTIONS)) == 375
    unmarked = write(tmp_path, f"{HEADER}a,b,1\nc,d,2\n")
    assert read_dev(unmarked).first == ("a", "c")
    marked = write(
        tmp_path, f"split,{HEADER}test,a,b,1\ntest,g,h,2\ndev,c,d,2\ndev,e,f,3\n", "marked.csv"
    )
    assert read_dev(marked).first == ("c", "e")
    assert len(read_dev(SAMPLE / "STS" / "STSBenchmark" / "sts-dev.csv")) == 300
    assert len(read_dev(SAMPLE)) == 300


def test_pairs_that_picked_a_step_are_left_out(tmp_path: Path) -> None:
    rows = "dev,a,b,1\ndev,c,d,2\ntest,a,b,1\ntest,e,f,3\ntest,g,h,4\n"
    path = write(tmp_path, f"split,{HEADER}{rows}")
    (left,) = without(read_table(path), read_dev(path), path)
    assert (left.name, left.first) == ("test", ("e", "g"))


def test_a_table_whose_every_pair_picked_the_step_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, f"{HEADER}a,b,1\nc,d,2\n")
    with pytest.raises(InputError, match=r"set train\.keep to last, or mark some pairs as dev"):
        without(read_table(path), read_dev(path), path)


def lengths(sentences: list[str]) -> np.ndarray:
    """An encoder for which a sentence is its length and its number of words."""
    return np.array([[len(text), 10 * len(text.split()), 1.0] for text in sentences])


def test_any_model_is_measured_on_a_table() -> None:
    result = evaluate(lengths, CAPTIONS, "sts")
    (score,) = result.sts.scores
    assert (score.task, score.label, score.pairs) == ("stsb_captions", "other", 1750)
    assert list(score.subsets) == ["train", "dev", "test"]


def test_a_table_has_no_other_tasks() -> None:
    with pytest.raises(InputError, match=r"a table of graded pairs, on which only sts"):
        evaluate(lengths, CAPTIONS, "sts,transfer")
