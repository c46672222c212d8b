"""Tables of pairs: however they are written, the same pairs; whatever is wrong, named by line."""

import csv
import io
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.pair_table import (
    MOST_BYTES,
    MOST_CHARACTERS,
    MOST_LINES,
    MOST_PAIRS,
    TableError,
    read_pairs,
    write_csv,
)
from tests.app.properties import PROPERTY

# Letters, and everything that tables are made of; never a number.
texts = st.text('ab"\t,;\n é日=+-@', min_size=1, max_size=12).map(lambda text: f"x{text}x")
plain = st.text("ab é日'", min_size=1, max_size=12).map(lambda text: f"x{text}x")
grades = st.integers(0, 50).map(lambda tenths: tenths / 10)
ends = st.sampled_from(["\n", "\r\n", "\r"])
Pair = tuple[str, str, float]


def listed(sentences: st.SearchStrategy[str]) -> st.SearchStrategy[list[Pair]]:
    return st.lists(st.tuples(sentences, sentences, grades), min_size=1, max_size=20)


def read(content: bytes | str) -> list[tuple[str, str, float | None]]:
    table = read_pairs(content)
    assert table.problems == ()
    return [(row.first, row.second, row.gold) for row in table.rows]


def written(rows: list[list[str]], delimiter: str, end: str) -> str:
    """As spreadsheets write it: every cell in quotes."""
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator=end).writerows(rows)
    return file.getvalue()


@PROPERTY
@given(some=listed(texts), delimiter=st.sampled_from("\t;,"), end=ends, graded=st.booleans())
def test_a_quoted_table_is_read_as_it_was_written(
    some: list[Pair], delimiter: str, end: str, graded: bool
) -> None:
    rows = [[a, b, *([str(gold)] if graded else [])] for a, b, gold in some]
    expected = [(a, b, gold if graded else None) for a, b, gold in some]
    assert read(written(rows, delimiter, end)) == expected


@PROPERTY
@given(some=listed(plain), end=ends, encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_encodings_line_ends_and_blank_lines_make_no_difference(
    some: list[Pair], end: str, encoding: str
) -> None:
    text = (end + " " + end).join(f"{a}\t{b}\t{gold}" for a, b, gold in some)
    assert read(f"{end}{text}{end}{end}".encode(encoding)) == some


@PROPERTY
@given(content=st.one_of(st.binary(max_size=80), st.text(max_size=80), st.text('"a,\t\n\r;1')))
def test_anything_is_read_or_refused_and_its_text_is_read_alike(content: bytes | str) -> None:
    try:
        table = read_pairs(content)
    except TableError:
        return
    assert "\r" not in table.text
    assert read_pairs(table.text) == table
    for row in table.rows:
        assert row.first.strip() == row.first != ""
        assert (row.gold is not None) == table.has_gold
    lines = table.text.count("\n") + 1
    assert all(1 <= row.number <= lines for row in table.rows)


@PROPERTY
@given(some=listed(plain), order=st.permutations(["sentence1", "Sentence 2", "SCORE", "id"]))
def test_named_columns_may_stand_in_any_order(some: list[Pair], order: list[str]) -> None:
    rows = [order]
    for place, (a, b, gold) in enumerate(some):
        cells = {"sentence1": a, "Sentence 2": b, "SCORE": str(gold), "id": str(place)}
        rows.append([cells[name] for name in order])
    assert read(written(rows, ",", "\n")) == some


@pytest.mark.parametrize("name", ["score", "gold", "label", "similarity", "Graded"])
def test_grades_have_several_names(name: str) -> None:
    assert read(f"{name},sentence_1,sentence_2\n4,a,b\n") == [("a", "b", 4)]


@pytest.mark.parametrize(
    "text",
    [
        "a cat\ta dog\t4\na man\ta boy\t2",
        "4\ta cat\ta dog\n2\ta man\ta boy",
        "1\ta cat\ta dog\t4\n2\ta man\ta boy\t2",
        "this\tthat\tstars\na cat\ta dog\t4\na man\ta boy\t2",
        "captions\tsample\t2026\t01\t4\ta cat\ta dog\ncaptions\tsample\t2026\t02\t2\ta man\ta boy",
        "a cat;a dog;4,0\na man;a boy;2,0",
    ],
    ids=["third", "first", "numbered", "another heading", "STS Benchmark", "decimal comma"],
)
def test_grades_are_found_by_their_numbers(text: str) -> None:
    assert read(text) == [("a cat", "a dog", 4), ("a man", "a boy", 2)]


def test_delimiters_inside_sentences_do_not_matter() -> None:
    assert read("One, two, three\tfour; five\nSix, seven\teight\n") == [
        ("One, two, three", "four; five", None),
        ("Six, seven", "eight", None),
    ]


def test_quotation_marks_of_a_table_that_quotes_nothing_stay() -> None:
    assert read('"No," he said.\tHe said "no".\n"Yes\tA 5" nail\n') == [
        ('"No," he said.', 'He said "no".', None),
        ('"Yes', 'A 5" nail', None),
    ]


def test_a_row_is_numbered_by_the_line_it_begins_on() -> None:
    table = read_pairs('a,b\n\n"c\nd",e\nf,g\n')
    assert [(row.number, row.first) for row in table.rows] == [(1, "a"), (3, "c\nd"), (5, "f")]


def test_every_bad_row_is_named() -> None:
    text = (
        "a\tb\t1\nalone\n\td\t2\ne\t \t3\nf\tg\thigh\nh\ti\nj\tk\tnan\nl\0\tm\t4\nn\to\t5\np\tq\t1"
        "\nr\t\ud800\t2"
    )
    table = read_pairs(text)
    assert [(row.number, row.gold) for row in table.rows] == [(1, 1), (9, 5), (10, 1)]
    assert table.has_gold
    starts = [
        "line 2: expected two sentences, got one column",
        "line 3: the first sentence is empty",
        "line 4: the second sentence is empty",
        "line 5: expected a number as its grade, got 'high'",
        "line 6: expected a number as its grade, got nothing",
        "line 7: expected a number as its grade, got 'nan'",
        "line 8: the first sentence has a NUL character",
        "line 11: the second sentence",
    ]
    assert len(table.problems) == len(starts)
    for problem, start in zip(table.problems, starts, strict=True):
        assert problem.startswith(start)
        assert problem.endswith(".")


@pytest.mark.parametrize("content", ["", b"", "\n \n", "\t\t\n", "\ufeff", "sentence1,sentence2\n"])
def test_a_table_without_pairs_is_refused(content: bytes | str) -> None:
    with pytest.raises(TableError, match="There is no pair"):
        read_pairs(content)


@pytest.mark.parametrize(("content", "byte"), [(b"a,\xff\n", 3), ("a\tb".encode("utf-16")[:-1], 7)])
def test_what_is_no_text_is_refused_in_one_sentence(content: bytes, byte: int) -> None:
    with pytest.raises(TableError, match=f"no text in UTF-8 or UTF-16, as its byte {byte}"):
        read_pairs(content)


def test_limits_are_named_with_what_exceeds_them() -> None:
    for text, words in (
        ("a,b\n" * (MOST_PAIRS + 1), "2,001 pairs, and at most 2,000"),
        ("a" * (MOST_BYTES + 1), "5,000,001 bytes, and at most 5,000,000"),
        ("é" * (MOST_BYTES // 2 + 1), "5,000,002 bytes, and at most 5,000,000"),
        ("\n" * (MOST_LINES + 1), "100,001 lines, and at most 100,000"),
        (f"a,b\nc,{'d' * (MOST_CHARACTERS + 1)}", "line 2 has 20,001 characters, and at most"),
    ):
        with pytest.raises(TableError, match=words):
            read_pairs(text)


def test_as_much_as_the_limits_allow_is_read() -> None:
    assert len(read("sentence1,sentence2\n" + "a,b\n" * MOST_PAIRS)) == MOST_PAIRS
    assert len(read(f"a,{'d' * MOST_CHARACTERS}")[0][1]) == MOST_CHARACTERS


@pytest.mark.parametrize("piece", ['"', '"a""b,', ","])
def test_no_table_takes_long(piece: str) -> None:
    """Linear work; the bound is generous, because others work on the machine as well."""
    start = time.process_time()
    for text in (piece * (MOST_BYTES // len(piece)), f"{piece * 12}\n" * 40_000):
        try:
            read_pairs(text[:MOST_BYTES])
        except TableError:
            continue
    assert time.process_time() - start < 30


@PROPERTY
@given(some=listed(texts))
def test_what_is_written_is_read_again(some: list[Pair]) -> None:
    text = write_csv(
        ["First sentence", "Second sentence", "Graded", "m: cosine"],
        [[a, b, gold, -0.5] for a, b, gold in some],
    )
    assert read(text) == some


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d"])
def test_no_sentence_is_a_formula(start: str) -> None:
    [[header], [cell, number]] = csv.reader(
        io.StringIO(write_csv([f"{start}1"], [[f"{start}1", -1]]), newline="")
    )
    assert (header, cell, number) == (f"'{start}1", f"'{start}1", "-1")


def test_numbers_are_plain() -> None:
    assert write_csv(["a"], [[1, -0.25, 1e-7, float("nan")]]) == "a\r\n1,-0.25,1e-07,\r\n"
