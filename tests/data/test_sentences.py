import gzip
import json
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.sentences import FORMATS, Corpus, read
from pipeline.machine.errors import InputError

SEPARATORS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
SENTENCES = [
    "A first sentence.",
    "Zweiter Satz, mit Umlauten: äöü.",
    *(f"before {separator} after" for separator in SEPARATORS),
    "三番目の文。 🙂",
]
ROWS = [f"  {SENTENCES[0]}\r", "", *SENTENCES[1:], SENTENCES[1], " \t\u2028 "]
CORPUS = Corpus(SENTENCES, rows=len(ROWS), empty=2, duplicates=1)
WIKI = Path(__file__).parents[3] / "shared/data/wiki/wiki1m.txt.xz"


def read_file(path: Path | str, *, revision: str | None = None, column: str = "text") -> Corpus:
    return read(str(path), revision=revision, column=column)


def as_text(rows: list[str]) -> bytes:
    return "\n".join(rows).encode()


def as_json_lines(rows: list[str]) -> bytes:
    return "\n".join(
        json.dumps({"id": 1, "text": row}, ensure_ascii=False) for row in rows
    ).encode()


def as_parquet(rows: list[str]) -> bytes:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no Parquet files")
    parquet = pytest.importorskip("pyarrow.parquet")
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table({"id": range(len(rows)), "text": rows}), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


WRITERS: dict[str, Callable[[list[str]], bytes]] = {
    ".txt": as_text,
    ".txt.gz": lambda rows: gzip.compress(as_text(rows)),
    ".txt.xz": lambda rows: lzma.compress(as_text(rows)),
    ".jsonl": as_json_lines,
    ".jsonl.gz": lambda rows: gzip.compress(as_json_lines(rows)),
    ".jsonl.xz": lambda rows: lzma.compress(as_json_lines(rows)),
    ".parquet": as_parquet,
}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An offline `datasets` whose data set owner/name is a local folder, as it allows."""
    datasets = pytest.importorskip("datasets", reason="datasets is not installed: no hub sources")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "owner" / "name"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_gives_the_same_corpus(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"corpus{suffix}"
    path.write_bytes(WRITERS[suffix](ROWS))
    assert read_file(path) == CORPUS


@pytest.mark.parametrize("suffix", [".txt.xz", ".parquet"])
def test_a_data_set_of_the_hub_gives_the_same_corpus(suffix: str, hub: Path) -> None:
    (hub / f"corpus{suffix}").write_bytes(WRITERS[suffix](ROWS))
    (hub / "another.txt").write_text("Not asked for.\n")
    assert read_file(f"hf://datasets/owner/name/corpus{suffix}") == CORPUS


def test_a_file_deeper_in_a_data_set_is_found(hub: Path) -> None:
    (hub / "en" / "all").mkdir(parents=True)
    (hub / "en" / "all" / "corpus.txt").write_bytes(as_text(ROWS))
    assert read_file("hf://datasets/owner/name/en/all/corpus.txt") == CORPUS


def test_a_last_newline_opens_no_row_and_a_missing_one_loses_none(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"a\nb")
    without = read_file(path)
    path.write_bytes(b"a\nb\n")
    assert read_file(path) == without == Corpus(["a", "b"], rows=2, empty=0, duplicates=0)


@pytest.mark.parametrize("suffix", [".txt", ".jsonl"])
def test_a_byte_order_mark_is_dropped(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"corpus{suffix}"
    path.write_bytes(b"\xef\xbb\xbf" + WRITERS[suffix](["a", "b"]))
    assert read_file(path).sentences == ["a", "b"]


def test_null_counts_as_empty_and_another_column_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"s": null}\n\n{"s": "a\\nb"}\n')
    assert read_file(path, column="s") == Corpus(["a\nb"], rows=3, empty=2, duplicates=0)


usable = st.text(st.characters(codec="utf-8", exclude_characters="\n\0\ufeff"))


@given(st.lists(usable))
def test_any_lines_come_back_stripped_distinct_and_counted(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str]
) -> None:
    path = tmp_path_factory.mktemp("any") / "corpus.txt"
    path.write_bytes("".join(f"{row}\n" for row in rows).encode())
    stripped = [row.strip() for row in rows]
    kept = list(dict.fromkeys(row for row in stripped if row))
    if not kept:
        with pytest.raises(InputError, match="empty"):
            read_file(path)
        return
    corpus = read_file(path)
    assert corpus.sentences == kept
    assert corpus.rows == len(rows) == len(kept) + corpus.empty + corpus.duplicates
    assert corpus.empty == stripped.count("")


def test_a_wrong_path_names_the_nearest_file(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("a\n")
    (tmp_path / "other.parquet").write_text("")
    with pytest.raises(
        InputError, match=r"'.*corpsu\.txt' does not exist; did you mean '.*corpus\.txt'\?$"
    ):
        read_file(tmp_path / "corpsu.txt")
    with pytest.raises(InputError, match="does not exist; give a local file or hf://datasets/"):
        read_file(tmp_path / "zzz")


MANY = as_text([f"sentence number {number}" for number in range(1000)])
BEFORE = b'{"text": "a"}\n'  # fourteen bytes before the junk
REFUSED: list[tuple[str, bytes, str]] = [
    ("corpus.csv", b"a\n", r"unknown format; allowed are \.txt, .*, \.parquet\."),
    ("corpus.parquet.gz", b"a\n", "unknown format"),
    ("corpus", b"a\n", "unknown format"),
    (".txt", b"", "is empty; give a file with one sentence a row"),
    (".jsonl.gz", b"", "is empty; give a file with one sentence a row"),
    (".parquet", b"", "is empty; give a file with one sentence a row"),
    (".txt", as_text(["", " ", "\u2028"]), "has 3 rows and all of them are empty"),
    (".jsonl", as_json_lines(["", " ", "\u2028"]), "has 3 rows and all of them are empty"),
    (".txt", BEFORE + b"\0\n", r"a NUL byte \(line 2, byte 14\); only UTF-8 text is read"),
    (".txt", BEFORE + b"\xe4\xb8\n", r"a byte that is not UTF-8 \(line 2, byte 14\)"),
    (".txt", BEFORE + b"\xed\xa0\x80\n", r"a byte that is not UTF-8 \(line 2, byte 14\)"),
    (".txt", BEFORE + b"\xff\0\n", r"a byte that is not UTF-8 \(line 2, byte 14\)"),
    (".txt.gz", gzip.compress(BEFORE + b"\0\xff\n"), r"a NUL byte \(line 2, byte 14\)"),
    (".jsonl", BEFORE + b"\xff\n", r"a byte that is not UTF-8 \(line 2, byte 14\)"),
    (".txt.gz", gzip.compress(MANY)[:-10], "is damaged or cut short"),
    (".txt.xz", lzma.compress(MANY)[:200], "is damaged or cut short"),
    (".txt.gz", b"plain text\n" * 10, r"is damaged or cut short .*; fetch it again"),
    (".txt.xz", b"plain text\n" * 10, r"is damaged or cut short .*; fetch it again"),
    (".jsonl", BEFORE + b"[1]\n", "line 2 is no JSON object; write one object a line"),
    (".jsonl", BEFORE + b'"text"\n', "line 2 is no JSON object"),
    (".jsonl", BEFORE + b"{\n", "line 2 is not JSON: .*; correct it"),
    (".jsonl", BEFORE + b"[" * 100_000, "line 2 is not JSON"),
    (
        ".jsonl",
        BEFORE + b'{"Text": "b", "n": 1}\n',
        "line 2 has no field 'text'; set corpus.column to one of 'Text'",
    ),
    (
        ".jsonl",
        BEFORE + b"{}\n",
        r"line 2 has no field 'text'; set corpus.column to one of \(none\)",
    ),
    (".jsonl", BEFORE + b'{"text": 3}\n', "line 2: 'text' is of type int; it must be a string"),
    (".jsonl", BEFORE + b'{"text": "b\\u0000"}\n', "line 2: 'text' holds a NUL"),
    (".jsonl", BEFORE + b'{"text": "\\ud800"}\n', "holds a NUL or half a surrogate pair"),
]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    REFUSED,
    ids=[f"{name}: {message}" for name, _, message in REFUSED],  # contents differ by the second
)
def test_a_file_that_cannot_be_read_is_refused_with_the_place(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / (f"corpus{name}" if name.startswith(".") else name)
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_file(path)


def test_a_parquet_file_without_the_column_or_damaged_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "corpus.parquet"
    content = as_parquet(["a", "b"])
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"no column 'sentence'; .* one of 'id', 'text'"):
        read_file(path, column="sentence")
    with pytest.raises(InputError, match="row 1: 'id' is of type int; it must be a string"):
        read_file(path, column="id")
    path.write_bytes(content[:-20])
    with pytest.raises(InputError, match=r"is no readable Parquet file .*; fetch it again"):
        read_file(path)


def test_a_folder_another_address_and_a_revision_of_a_local_file_are_refused(
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match="is a folder; name one file in it"):
        read_file(tmp_path)
    for source in ("https://example.org/a.txt", "hf://datasets/owner/name@main/a.txt"):
        with pytest.raises(InputError, match="is no source; give a local file or hf://datasets/"):
            read_file(source)
    with pytest.raises(InputError, match="only hf://datasets/ sources have revisions"):
        read_file(tmp_path / "corpus.txt", revision="main")


def test_a_hub_out_of_reach_says_what_to_do(hub: Path) -> None:
    with pytest.raises(InputError, match=r"at revision 'v1' \(.*\); check name and connection"):
        read_file("hf://datasets/owner/other/corpus.txt", revision="v1")


def test_a_file_missing_in_a_data_set_is_one_short_sentence(hub: Path) -> None:
    (hub / "corpus.txt").write_text("a\n")
    with pytest.raises(
        InputError, match="FileNotFoundError: no such file there, or no access"
    ) as caught:
        read_file("hf://datasets/owner/name/corpsu.txt")
    assert len(str(caught.value)) < 250
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("module", "source"),
    [("datasets", "hf://datasets/owner/name/a.txt"), ("pyarrow", "a.parquet")],
)
def test_a_library_that_is_not_installed_is_named(
    module: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=rf"`{module}`; .* pip install -e '\.\[pipeline\]'"):
        read_file(source)


@pytest.mark.verify
@pytest.mark.skipif(not WIKI.exists(), reason=f"real data is not here: {WIKI.name} in shared/data")
def test_the_million_sentences_are_a_million_rows() -> None:
    corpus = read_file(WIKI)
    assert corpus.rows == 1_000_000
    assert len(corpus.sentences) + corpus.empty + corpus.duplicates == corpus.rows
