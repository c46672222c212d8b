"""Readers: what is a line, a column, a scored pair and a labelled sentence, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.machine.errors import InputError
from pipeline.senteval.readers import (
    Examples,
    Pairs,
    read_binary,
    read_mrpc,
    read_sick,
    read_sst2,
    read_sts_benchmark,
    read_subsets,
    read_trec,
)

SICK_HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
SEPARATORS = "one\u2028two\x85three\x0bfour\x1cfive"


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def subset(folder: Path, pairs: str, gold: str) -> Pairs:
    write(folder / "STS.input.belief.txt", pairs)
    write(folder / "STS.gs.belief.txt", gold)
    (read,) = read_subsets(folder, ["belief"])
    return read


def benchmark(folder: Path, content: str | bytes) -> Pairs:
    return read_sts_benchmark(write(folder / "sts-test.csv", content))


def benchmark_line(score: str, first: str, second: str) -> str:
    return f"main-captions\tMSRvid\t2012test\t0001\t{score}\t{first}\t{second}\n"


def sick(folder: Path, content: str) -> Pairs:
    return read_sick(write(folder / "SICK.txt", content))


def binary(folder: Path, positive: bytes, negative: bytes) -> Examples:
    write(folder / "mr.pos", positive)
    write(folder / "mr.neg", negative)
    return read_binary(folder, "mr.pos", "mr.neg")["all"]


def trec(folder: Path, train: str, test: str = "LOC:a b\n") -> dict[str, Examples]:
    write(folder / "train_5500.label", train)
    write(folder / "TREC_10.label", test)
    return read_trec(folder)


def sst2(folder: Path, content: str | bytes) -> dict[str, Examples]:
    for part in ("train", "dev", "test"):
        write(folder / f"sentiment-{part}", content)
    return read_sst2(folder)


def mrpc(folder: Path, rows: str) -> Examples:
    for part in ("train", "test"):
        write(folder / f"msr_paraphrase_{part}.txt", f"\ufeffQuality\t#1 ID ...\r\n{rows}")
    return read_mrpc(folder)["train"]


class TestScoredPairs:
    def test_windows_line_ends_are_stripped(self, tmp_path: Path) -> None:
        assert subset(tmp_path, "a\tb\r\nc\td\r\n", "1\r\n2\r\n").second == ("b", "d")

    @settings(deadline=None)
    @example([(SEPARATORS, "b", 1), ("c", "d", 2)])  # which str.splitlines() would split
    @example([('"a', "b", 1), ("c", 'd"', 2)])  # which csv.reader would read as one row
    @given(
        st.lists(
            st.tuples(
                st.text(st.characters(exclude_characters="\t\n\r", codec="utf-8")),
                st.text(st.characters(exclude_characters="\t\n\r", codec="utf-8")),
                st.integers(0, 5),
            ),
            min_size=2,
        ).filter(lambda rows: len({score for *_, score in rows}) > 1)
    )
    def test_any_text_without_tabs_and_line_ends_comes_back(
        self, tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, int]]
    ) -> None:
        text = "".join(benchmark_line(str(s), a, b) for a, b, s in rows)
        pairs = benchmark(tmp_path_factory.mktemp("data"), text)
        assert list(zip(pairs.first, pairs.second, pairs.gold.tolist(), strict=True)) == rows

    def test_a_pair_with_an_empty_gold_line_is_left_out(self, tmp_path: Path) -> None:
        """Four pairs, the second and the last unscored: two remain."""
        pairs = subset(tmp_path, "a\tb\nc\td\ne\tf\ng\th\n", "4\n\n1.5\n\n")
        assert (pairs.first, pairs.gold.tolist()) == (("a", "e"), [4.0, 1.5])

    def test_sick_columns_are_found_by_name(self, tmp_path: Path) -> None:
        header = "relatedness_score\tsentence_B\tpair_ID\tsentence_A"
        pairs = sick(tmp_path, f"{header}\r\n3.5\tb\t1\ta\r\n1\td\t2\tc\r\n")
        assert (pairs.first, pairs.second) == (("a", "c"), ("b", "d"))
        assert pairs.gold.tolist() == [3.5, 1.0]


class TestLabelledSentences:
    def test_rows_are_sorted_by_tokens_then_label_and_else_stay_in_order(
        self, tmp_path: Path
    ) -> None:
        examples = binary(tmp_path, b"c c\nb\na\n", b"z z\ny\nx x x\n")
        assert examples.sentences == (("y", "b", "a", "z z", "c c", "x x x"),)
        assert examples.labels.tolist() == [0, 1, 1, 0, 1, 0]

    def test_binary_tasks_are_latin1_and_only_newlines_end_a_line(self, tmp_path: Path) -> None:
        """0x85 is a line's end to str.splitlines and white space to str.split, in SentEval too."""
        examples = binary(tmp_path, b"caf\xe9 a\x0bb\n", b"one\x1ctwo\n")
        assert examples.sentences == (("one two", "café a b"),)

    def test_an_empty_sentence_stays_as_a_full_stop_that_counts_no_token(
        self, tmp_path: Path
    ) -> None:
        examples = binary(tmp_path, b"good\n\n", b"bad\n")
        assert examples.sentences == ((".", "bad", "good"),)
        assert examples.labels.tolist() == [1, 0, 1]

    def test_trec_has_six_coarse_classes_in_alphabetical_order(self, tmp_path: Path) -> None:
        train = "NUM:date When ?\nABBR:exp What is a b ?\nLOC:city Where is it ?\n"
        parts = trec(tmp_path, train, "HUM:ind Who : me ?\n")
        assert parts["train"].labels.tolist() == [5, 4, 0]
        assert parts["train"].sentences == (("When ?", "Where is it ?", "What is a b ?"),)
        assert parts["test"].sentences == (("Who : me ?",),)
        assert parts["test"].labels.tolist() == [3]

    def test_mrpc_has_a_header_and_quotes_that_are_text(self, tmp_path: Path) -> None:
        long = '1\t10\t20\t" A quote , he said .\tHe said " a " quote .\r\n'
        examples = mrpc(tmp_path, f"{long}0\t10\t20\tA b .\tC .\r\n")
        assert examples.sentences == (
            ("A b .", '" A quote , he said .'),
            ("C .", 'He said " a " quote .'),
        )
        assert examples.labels.tolist() == [0, 1]

    def test_pairs_are_sorted_by_the_tokens_of_the_first_then_of_the_second(
        self, tmp_path: Path
    ) -> None:
        rows = ("1\t1\t2\ta b\tc", "1\t1\t2\ta\tc d", "0\t1\t2\ta\tx y", "0\t1\t2\ta\tc d e")
        examples = mrpc(tmp_path, "\n".join(rows))
        assert examples.sentences == (("a", "a", "a", "a b"), ("x y", "c d", "c d e", "c"))
        assert examples.labels.tolist() == [0, 1, 0, 1]

    def test_sst2_has_a_label_after_a_tab(self, tmp_path: Path) -> None:
        parts = sst2(tmp_path, "lovely\u2028it is \t1\nbad film\t0\n")
        assert list(parts) == ["train", "dev", "test"]
        assert parts["dev"].sentences == (("bad film", "lovely it is"),)
        assert parts["dev"].labels.tolist() == [0, 1]
        assert parts["dev"].labels.dtype == np.int64


def gold(folder: Path, content: str) -> Pairs:
    """Two pairs with these gold lines."""
    return subset(folder, "a\tb\nc\td\n", content)


ONE = benchmark_line("1", "a", "b")
MALFORMED = [
    (gold, "1\n2\n3\n", r"has 2 lines and STS\.gs\.belief\.txt has 3"),
    (gold, "1\nhigh\n", "line 2: the score 'high' is not a finite number"),
    (gold, "1\ninf\n", r"gs\.belief\.txt, line 2: the score 'inf' is not"),
    (benchmark, f"{ONE}x\ty\n", r"sts-test\.csv, line 2: 2 tab-separated columns, expected 7"),
    (benchmark, "", "0 scored pairs without two different scores"),
    (benchmark, ONE * 3, "3 scored pairs without two different scores"),
    (benchmark, b"caf\xe9\t", r"sts-test\.csv: byte 3 is not UTF-8"),
    (sick, "pair_ID\tsentence_A\n1\ta\n", "header lacks sentence_B, relatedness_score"),
    (sick, f"{SICK_HEADER}\n1\ta\tb\n", r"SICK\.txt, line 2: 3 tab-separated columns, expected 5"),
    (trec, "LOC:a b\nPLACE:a b\n", "line 2: 'PLACE:a' is not a class; it must start with one of A"),
    (mrpc, "1\t1\t2\tonly one\n", r"train\.txt, line 2: 4 tab-separated columns, expected 5"),
    (sst2, "a\t0\nfilm\t2\n", "sentiment-train, line 2: the label '2' must be 0 or 1"),
    (sst2, "a\t0\nfilm\tgood\n", "sentiment-train, line 2: the label 'good' must be 0 or 1"),
    (sst2, b"caf\xe9\t0\n", "sentiment-train: byte 3 is not UTF-8"),
]


@pytest.mark.parametrize(("read", "content", "message"), MALFORMED)
def test_a_malformed_file_is_refused_with_its_place(
    tmp_path: Path, read: Callable[[Path, str | bytes], object], content: str | bytes, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, content)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"sts-dev\.csv is missing; restore it from SentEval's"):
        read_sts_benchmark(tmp_path / "sts-dev.csv")
