"""The same rows come out of every format, and what cannot be read is named with its place."""

import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.rows import check_exists, check_format, read_rows
from pipeline.machine.errors import InputError

SEPARATORS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
ROWS = [
    "  A first sentence, with spaces around. ",
    "",
    'Zweiter "Satz", mit Umlauten: äöü.',
    *(f"before {separator} after" for separator in SEPARATORS),
    "三番目の文。 🙂",
    " \u2028 ",
]


def read(path: Path, column: str = "text") -> list[str | None]:
    return list(read_rows(path, column, f"INPUT: {path.name}", "--column"))


def lines(rows: list[str]) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


def json_lines(rows: list[str]) -> bytes:
    return lines([json.dumps({"id": 1, "text": row}, ensure_ascii=False) for row in rows])


def cells(rows: list[str]) -> bytes:
    """As spreadsheets write them."""
    quoted = ['"' + row.replace('"', '""') + '"' for row in rows]
    return lines(["id,text", *(f"1,{cell}" for cell in quoted)])


def as_parquet(rows: list[str]) -> bytes:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no Parquet files")
    parquet = pytest.importorskip("pyarrow.parquet")
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table({"id": range(len(rows)), "text": rows}), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def packed(write: Callable[[list[str]], bytes], suffix: str) -> dict[str, Callable[..., bytes]]:
    return {
        suffix: write,
        f"{suffix}.gz": lambda rows: gzip.compress(write(rows)),
        f"{suffix}.xz": lambda rows: lzma.compress(write(rows)),
    }


WRITERS: dict[str, Callable[[list[str]], bytes]] = {
    **packed(lines, ".txt"),
    **packed(json_lines, ".jsonl"),
    **packed(cells, ".csv"),
    **packed(lambda rows: lines(["id\ttext", *(f"1\t{row}" for row in rows)]), ".tsv"),
    ".parquet": as_parquet,
    ".TXT.GZ": lambda rows: gzip.compress(lines(rows)),
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_every_format_gives_the_same_rows(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"corpus{suffix}"
    path.write_bytes(WRITERS[suffix](ROWS))
    check_format(path, "INPUT")
    assert read(path) == ROWS


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0\n"))))
def test_cells_of_any_text_come_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str]
) -> None:
    path = tmp_path_factory.mktemp("any") / "corpus.csv"
    path.write_bytes(cells(rows))
    assert read(path) == rows


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", b"a\nb", ["a", "b"]),
        ("a.txt", b"\xef\xbb\xbfa\r\nb\r\n", ["a", "b"]),
        ("a.txt", b"a\rb\nc\n", ["a\rb", "c"]),
        ("a.txt", b"", []),
        ("a.parquet", b"", []),
        ("a.csv.gz", b"", []),
        ("a.csv", b"text\n", []),
        ("a.csv", b"\xef\xbb\xbftext,id\r\na,1\r\nb,2", ["a", "b"]),
        ("a.csv", b'text\n"two\nlines"\n"and\r\n""quoted"""\n', ["two\nlines", 'and\r\n"quoted"']),
        ("a.csv", b"id,text\n1,a\rb\n\n2,c\n", ["a\rb", "", "c"]),
        ("a.tsv", b"text\tid\na, b\t1\n", ["a, b"]),
        ("a.tsv", b'text\n"a" b\n"c\n', ['"a" b', '"c']),
        ("a.jsonl", b'{"text": "a\\nb"}\n\n{"text": null}\n', ["a\nb", "", None]),
    ],
)
def test_what_ends_a_row_and_what_does_not(
    name: str, content: bytes, expected: list[str | None], tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    assert read(tmp_path / name) == expected


def test_a_cell_may_be_long(tmp_path: Path) -> None:
    long = "word " * 400_000
    (tmp_path / "a.csv").write_bytes(cells([long]))
    assert read(tmp_path / "a.csv") == [long]


MANY = lines([f"sentence number {number}" for number in range(1000)])
FIRST = b'{"text": "a"}\n'  # fourteen bytes
REFUSED: list[tuple[str, bytes, str]] = [
    (".txt", FIRST + b"\0\n", r"holds a NUL byte \(line 2, byte 14\); only UTF-8 text is read"),
    (".txt", FIRST + b"\xe4\xb8\n", r"holds a byte that is not UTF-8 \(line 2, byte 14\); only"),
    (".txt", FIRST + b"\xed\xa0\x80\n", r"a byte that is not UTF-8 \(line 2, byte 14\)"),
    (".txt", FIRST + b"\xff\0\n", r"a byte that is not UTF-8 \(line 2, byte 14\)"),
    (".txt.gz", gzip.compress(FIRST + b"\0\xff\n"), r"a NUL byte \(line 2, byte 14\)"),
    (".jsonl", FIRST + b"\xff\n", r"a byte that is not UTF-8 \(line 2, byte 14\)"),
    (".csv", b"text\na\n\xff\n", r"a byte that is not UTF-8 \(line 3, byte 7\)"),
    (".txt", b"one\rtwo\rthree\r", r"has no line feed \(LF\), and carriage returns \(CR\) end no"),
    (".csv", b"text\ra\r", r"has no line feed \(LF\).*; convert its line ends, for example with"),
    (".txt.gz", gzip.compress(MANY)[:-10], r"is damaged or cut short \(.+\); fetch it again\."),
    (".txt.xz", lzma.compress(MANY)[:200], r"is damaged or cut short \(.+\); fetch it again\."),
    (".csv.gz", b"plain text\n" * 10, r"is damaged or cut short \(Not a gzipped file .*\); fetch"),
    (".txt.xz", b"plain text\n" * 10, r"is damaged or cut short .*; fetch it again"),
    (".jsonl", FIRST + b"[1]\n", "line 2 is no JSON object; write one object a line"),
    (".jsonl", FIRST + b'"text"\n', "line 2 is no JSON object"),
    (".jsonl", FIRST + b"{\n", "line 2 is not JSON: .*; correct it"),
    (".jsonl", FIRST + b"[" * 100_000, "line 2 is not JSON"),
    (".jsonl", FIRST + b'{"Text": 1}\n', "line 2 has no field 'text'; set --column to one of 'Te"),
    (".jsonl", FIRST + b"{}\n", r"line 2 has no field 'text'; set --column to one of \(none\)\."),
    (".jsonl", FIRST + b'{"text": 3}\n', "line 2: 'text' is of type int; it must be a string"),
    (".jsonl", FIRST + b'{"text": "b\\u0000"}\n', "line 2: 'text' holds a NUL"),
    (".jsonl", FIRST + b'{"text": "\\ud800"}\n', "holds a NUL or half a surrogate pair"),
    (".csv", b"id;text\n1;a\n", "has no column 'text'; set --column to one of 'id;text'"),
    (".csv", b'id,text\n1,"a\nb"\n2,b,c\n', "line 4 has 3 cells and the header 2; correct it"),
    (".tsv", b"id\ttext\n1\ta\n2\n", "line 3 has 1 cells and the header 2"),
    (".csv", b'text\na\n"b\nc\n', "line 3 is no row of a table: unexpected end of data; quote"),
    (".csv", b'text\n"a" b\n', "line 2 is no row of a table: ',' expected after '\"'; quote cells"),
]


@pytest.mark.parametrize(
    ("suffix", "content", "message"),
    REFUSED,
    ids=[f"{suffix}: {message}" for suffix, _, message in REFUSED],  # contents differ by the second
)
def test_what_cannot_be_read_is_named_with_the_place(
    suffix: str, content: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / f"corpus{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"^INPUT: corpus{suffix} .*{message}"):
        read(path)


def test_parquet_without_the_column_of_another_type_or_damaged(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "corpus.parquet"
    bad = pa.array([b"a", b"\xff"], pa.binary()).view(pa.string())
    parquet.write_table(pa.table({"id": [1, 2], "text": bad, "none": ["a", None]}), path)
    assert read(path, "none") == ["a", None]
    for column, message in {
        "sentence": "has no column 'sentence'; set --column to one of 'id', 'text', 'none'",
        "id": "row 1: 'id' is of type int; it must be a string",
        "text": "row 2: its text is not UTF-8; convert the file",
    }.items():
        with pytest.raises(InputError, match=message):
            read(path, column)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"is no readable Parquet file .*; fetch it again"):
        read(path)


@pytest.mark.parametrize("kind", ["large_string", "string_view", "dictionary"])
def test_every_kind_of_text_column_is_read(kind: str, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    type_ = pa.dictionary(pa.int8(), pa.string()) if kind == "dictionary" else getattr(pa, kind)()
    parquet.write_table(pa.table({"text": pa.array(["a", "b"], type_)}), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == ["a", "b"]


@pytest.mark.parametrize("name", ["corpus", "corpus.doc", "corpus.parquet.gz", "corpus.txt.zip"])
def test_an_unknown_format_names_those_that_are_read(name: str) -> None:
    with pytest.raises(
        InputError,
        match=r"^INPUT is of an unknown format; allowed are \.txt, \.jsonl, \.csv and \.tsv, each "
        r"plain, \.gz or \.xz, and \.parquet, plain\.$",
    ):
        check_format(Path(name), "INPUT")


def test_a_path_where_nothing_is_names_the_nearest_file(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").touch()
    for name, message in {
        "corpsu.txt": r"^INPUT does not exist; did you mean '\S+/corpus\.txt'\?$",
        "else.md": r"^INPUT does not exist; check the path\.$",
        "no/such.txt": r"^INPUT does not exist, nor does its folder '\S+/no'; relative paths start",
    }.items():
        with pytest.raises(InputError, match=message):
            check_exists(tmp_path / name, "INPUT")
