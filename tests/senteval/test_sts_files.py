"""Readers: what is a line, a column and a scored pair, and what is refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.machine.errors import InputError
from pipeline.senteval.sts_files import read_gold_and_input, read_sick, read_sts_benchmark

ROOT = Path(__file__).parents[2]
SICK_HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def write_subset(folder: Path, pairs: str, gold: str) -> Path:
    write(folder / "STS.input.belief.txt", pairs)
    write(folder / "STS.gs.belief.txt", gold)
    return folder


def write_benchmark(data: Path, text: str, split: str = "test") -> Path:
    write(data / "STS" / "STSBenchmark" / f"sts-{split}.csv", text)
    return data


def benchmark_line(score: str, first: str, second: str) -> str:
    return f"main-captions\tMSRvid\t2012test\t0001\t{score}\t{first}\t{second}\n"


class TestLinesAndColumns:
    def test_unicode_line_separators_do_not_split_a_sentence(self, tmp_path: Path) -> None:
        """Two lines by "\\n"; str.splitlines() would find six."""
        odd = "one\u2028two\x85three\x0bfour\x1cfive"
        folder = write_subset(tmp_path, f"{odd}\tb\nc\td\n", "1\n2\n")
        assert read_gold_and_input(folder, "belief").first == (odd, "c")

    def test_quotes_are_ordinary_characters(self, tmp_path: Path) -> None:
        """csv.reader would read both lines as one row."""
        folder = write_subset(tmp_path, '"a\tb\nc\td"\n', "1\n2\n")
        pairs = read_gold_and_input(folder, "belief")
        assert (pairs.first, pairs.second) == (('"a', "c"), ("b", 'd"'))

    def test_windows_line_ends_are_stripped(self, tmp_path: Path) -> None:
        folder = write_subset(tmp_path, "a\tb\r\nc\td\r\n", "1\r\n2\r\n")
        assert read_gold_and_input(folder, "belief").second == ("b", "d")

    @settings(deadline=None)
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
        data = tmp_path_factory.mktemp("data")
        write_benchmark(data, "".join(benchmark_line(str(s), a, b) for a, b, s in rows))
        pairs = read_sts_benchmark(data, "test")
        found = zip(pairs.first, pairs.second, pairs.gold.tolist(), strict=True)
        assert list(found) == rows


class TestScoredPairs:
    def test_a_pair_with_an_empty_gold_line_is_left_out(self, tmp_path: Path) -> None:
        """Four pairs, the second and the last unscored: two remain."""
        folder = write_subset(tmp_path, "a\tb\nc\td\ne\tf\ng\th\n", "4\n\n1.5\n\n")
        pairs = read_gold_and_input(folder, "belief")
        assert (pairs.first, pairs.gold.tolist()) == (("a", "e"), [4.0, 1.5])

    def test_sts_benchmark_has_its_score_before_the_sentences(self, tmp_path: Path) -> None:
        text = benchmark_line("2.5", "a", "b") + benchmark_line("5", "c", "d")
        pairs = read_sts_benchmark(write_benchmark(tmp_path, text, "dev"), "dev")
        assert (pairs.first, pairs.second) == (("a", "c"), ("b", "d"))
        assert pairs.gold.tolist() == [2.5, 5.0]

    def test_sick_columns_are_found_by_name(self, tmp_path: Path) -> None:
        path = write(
            tmp_path / "SICK_test_annotated.txt",
            "relatedness_score\tsentence_B\tpair_ID\tsentence_A\r\n3.5\tb\t1\ta\r\n1\td\t2\tc\r\n",
        )
        pairs = read_sick(path)
        assert (pairs.first, pairs.second) == (("a", "c"), ("b", "d"))
        assert pairs.gold.tolist() == [3.5, 1.0]


class TestRefusals:
    def test_a_missing_gold_file_is_named(self, tmp_path: Path) -> None:
        write(tmp_path / "STS.input.belief.txt", "a\tb\n")
        with pytest.raises(InputError, match=r"STS\.gs\.belief\.txt is missing; restore it"):
            read_gold_and_input(tmp_path, "belief")

    def test_unequal_numbers_of_lines_are_counted(self, tmp_path: Path) -> None:
        folder = write_subset(tmp_path, "a\tb\nc\td\n", "1\n2\n3\n")
        with pytest.raises(InputError, match=r"has 2 lines and STS\.gs\.belief\.txt has 3"):
            read_gold_and_input(folder, "belief")

    @pytest.mark.parametrize("score", ["high", "inf"])
    def test_an_unreadable_score_is_located(self, tmp_path: Path, score: str) -> None:
        folder = write_subset(tmp_path, "a\tb\nc\td\n", f"1\n{score}\n")
        with pytest.raises(InputError, match=rf"belief\.txt, line 2: the score '{score}' is not"):
            read_gold_and_input(folder, "belief")

    def test_a_line_with_too_few_columns_is_located(self, tmp_path: Path) -> None:
        data = write_benchmark(tmp_path, benchmark_line("1", "a", "b") + "x\ty\n")
        with pytest.raises(InputError, match=r"sts-test\.csv, line 2: 2 tab-separated columns"):
            read_sts_benchmark(data, "test")

    def test_a_sick_header_without_the_columns_is_refused(self, tmp_path: Path) -> None:
        path = write(tmp_path / "SICK.txt", "pair_ID\tsentence_A\n1\ta\n")
        with pytest.raises(InputError, match="lacks sentence_B, relatedness_score"):
            read_sick(path)

    def test_a_cut_sick_line_is_located(self, tmp_path: Path) -> None:
        path = write(tmp_path / "SICK.txt", f"{SICK_HEADER}\n1\ta\tb\n")
        with pytest.raises(InputError, match=r"SICK\.txt, line 2: 3 tab-separated columns"):
            read_sick(path)

    @pytest.mark.parametrize("text", ["", benchmark_line("1", "a", "b") * 3])
    def test_pairs_without_two_different_scores_are_refused(
        self, tmp_path: Path, text: str
    ) -> None:
        with pytest.raises(InputError, match=r"[03] scored pairs without two different scores"):
            read_sts_benchmark(write_benchmark(tmp_path, text), "test")

    def test_text_that_is_not_utf8_is_refused(self, tmp_path: Path) -> None:
        data = write_benchmark(tmp_path, "")
        (data / "STS" / "STSBenchmark" / "sts-test.csv").write_bytes(b"caf\xe9\t")
        with pytest.raises(InputError, match=r"sts-test\.csv: byte 3 is not UTF-8"):
            read_sts_benchmark(data, "test")
