import gzip
import json
import lzma
import subprocess
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


def test_every_format_is_tested() -> None:
    assert tuple(WRITERS) == FORMATS


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_gives_the_same_corpus(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"corpus{suffix}"
    path.write_bytes(WRITERS[suffix](ROWS))
    assert read_file(path) == CORPUS


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_data_set_of_the_hub_gives_the_same_corpus(suffix: str, hub: Path) -> None:
    (hub / f"corpus{suffix}").write_bytes(WRITERS[suffix](ROWS))
    (hub / "another.txt").write_text("Not asked for.\n")
    assert read_file(f"hf://datasets/owner/name/corpus{suffix}") == CORPUS


def test_a_file_deeper_in_a_data_set_is_found(hub: Path) -> None:
    (hub / "en" / "all").mkdir(parents=True)
    (hub / "en" / "all" / "corpus.txt").write_bytes(as_text(ROWS))
    assert read_file("hf://datasets/owner/name/en/all/corpus.txt") == CORPUS


@pytest.mark.parametrize("separator", SEPARATORS)
def test_no_separator_but_the_newline_splits_a_row(separator: str, tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(f"a{separator}b\nc{separator}\n{separator}d\n".encode())
    assert read_file(path) == Corpus([f"a{separator}b", "c", "d"], rows=3, empty=0, duplicates=0)


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


def test_an_upper_case_suffix_is_the_same_format(tmp_path: Path) -> None:
    path = tmp_path / "CORPUS.TXT"
    path.write_text("a\n")
    assert read_file(path).sentences == ["a"]


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


def test_a_wrong_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nor does its folder '.*nowhere'; relative paths start"):
        read_file(tmp_path / "nowhere" / "corpus.txt")


def test_a_folder_is_no_source(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; name one file in it"):
        read_file(tmp_path)


@pytest.mark.parametrize("name", ["corpus.csv", "corpus.parquet.gz", "corpus"])
def test_an_unknown_format_lists_the_known_ones(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("a\n")
    with pytest.raises(InputError, match=r"unknown format; allowed are \.txt, .*, \.parquet\."):
        read_file(tmp_path / name)
    with pytest.raises(InputError, match="unknown format"):
        read_file(f"hf://datasets/owner/name/{name}")


@pytest.mark.parametrize("suffix", FORMATS)
def test_an_empty_file_is_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"corpus{suffix}"
    path.touch()
    with pytest.raises(InputError, match="is empty; give a file with one sentence a row"):
        read_file(path)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_of_empty_rows_is_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"corpus{suffix}"
    path.write_bytes(WRITERS[suffix](["", " ", "\u2028"]))
    with pytest.raises(InputError, match="has 3 rows and all of them are empty"):
        read_file(path)


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".txt.xz", ".jsonl"])
@pytest.mark.parametrize(
    ("junk", "named"),
    [
        (b"\0", r"a NUL byte \(line 2, byte 14\)"),
        (b"\xff", r"a byte that is not UTF-8 \(line 2, byte 14\)"),
        (b"\xe4\xb8", r"a byte that is not UTF-8 \(line 2, byte 14\)"),
        (b"\xed\xa0\x80", r"a byte that is not UTF-8 \(line 2, byte 14\)"),
        (b"\xff\0", r"a byte that is not UTF-8 \(line 2, byte 14\)"),
        (b"\0\xff", r"a NUL byte \(line 2, byte 14\)"),
    ],
)
def test_binary_junk_is_refused_with_its_place(
    suffix: str, junk: bytes, named: str, tmp_path: Path
) -> None:
    content = b'{"text": "a"}\n' + junk + b"\n"  # fourteen bytes before the junk
    if suffix.endswith(".gz"):
        content = gzip.compress(content)
    if suffix.endswith(".xz"):
        content = lzma.compress(content)
    path = tmp_path / f"corpus{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"{named}; only UTF-8 text is read"):
        read_file(path)


@pytest.mark.parametrize("suffix", [".txt.gz", ".txt.xz", ".jsonl.gz", ".jsonl.xz"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_compressed_file_cut_short_is_refused(suffix: str, share: float, tmp_path: Path) -> None:
    content = WRITERS[suffix]([f"sentence number {number}" for number in range(1000)])
    path = tmp_path / f"corpus{suffix}"
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(InputError, match="is damaged or cut short"):
        read_file(path)


@pytest.mark.parametrize("suffix", [".txt.gz", ".txt.xz"])
def test_a_file_that_is_not_compressed_as_named_is_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"corpus{suffix}"
    path.write_text("plain text\n" * 10)
    with pytest.raises(InputError, match=r"is damaged or cut short .*; fetch it again"):
        read_file(path)


def test_a_damaged_gzip_stream_is_refused(tmp_path: Path) -> None:
    content = bytearray(WRITERS[".txt.gz"]([f"sentence {number}" for number in range(1000)]))
    content[len(content) // 2] ^= 0xFF
    path = tmp_path / "corpus.txt.gz"
    path.write_bytes(content)
    with pytest.raises(InputError):
        read_file(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "line 2 is no JSON object; write one object a line"),
        ('"text"', "line 2 is no JSON object"),
        ("{", "line 2 is not JSON: .*; correct it"),
        ("[" * 100_000, "line 2 is not JSON"),
        ('{"Text": "b", "n": 1}', "line 2 has no field 'text'; set corpus.column to one of 'Text'"),
        ("{}", r"line 2 has no field 'text'; set corpus.column to one of \(none\)"),
        ('{"text": 3}', "line 2: 'text' is of type int; it must be a string"),
        ('{"text": ["b"]}', "line 2: 'text' is of type list"),
        ('{"text": "b\\u0000"}', "line 2: 'text' holds a NUL"),
        ('{"text": "b\\ud800"}', "line 2: 'text' holds a NUL or half a surrogate pair"),
    ],
)
def test_a_wrong_json_line_is_named(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text(f'{{"text": "a"}}\n{line}\n')
    with pytest.raises(InputError, match=message):
        read_file(path)


def test_a_parquet_file_without_the_column_lists_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "corpus.parquet"
    path.write_bytes(as_parquet(["a"]))
    with pytest.raises(InputError, match=r"no column 'sentence'; .* one of 'id', 'text'"):
        read_file(path, column="sentence")
    with pytest.raises(InputError, match="row 1: 'id' is of type int; it must be a string"):
        read_file(path, column="id")


@pytest.mark.parametrize("kept", [slice(None, -20), slice(20, None), slice(0, 3)])
def test_a_damaged_parquet_file_is_refused(kept: slice, tmp_path: Path) -> None:
    path = tmp_path / "corpus.parquet"
    path.write_bytes(as_parquet(["a", "b"])[kept])
    with pytest.raises(InputError, match=r"is no readable Parquet file .*; fetch it again"):
        read_file(path)


@pytest.mark.parametrize(
    "source",
    [
        "https://example.org/a.txt",
        "hf://datasets/name/a.txt",
        "hf://datasets/owner/name@main/a.txt",
    ],
)
def test_another_address_is_refused(source: str) -> None:
    with pytest.raises(InputError, match="is no source; give a local file or hf://datasets/"):
        read_file(source)


def test_a_revision_of_a_local_file_is_refused(tmp_path: Path) -> None:
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


def test_libraries_of_the_pipeline_extra_are_not_needed_for_text() -> None:
    code = "import sys, pipeline.data.sentences; print({'datasets', 'pyarrow'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"


@pytest.mark.slow
@pytest.mark.skipif(not WIKI.exists(), reason=f"real data is not here: {WIKI.name} in shared/data")
def test_the_million_sentences_are_a_million_rows() -> None:
    corpus = read_file(WIKI)
    assert corpus.rows == 1_000_000
    assert len(corpus.sentences) + corpus.empty + corpus.duplicates == corpus.rows
