"""A corpus: the distinct, stripped sentences of a file here or on the hub; the rest is counted."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.sentences import Corpus, read
from pipeline.machine.errors import InputError

WIKI = Path(__file__).parents[3] / "shared/data/wiki/wiki1m.txt.xz"
HUB = "hf://datasets/owner/name/"


def read_file(path: Path | str, *, revision: str | None = None, column: str = "text") -> Corpus:
    return read(str(path), revision=revision, column=column)


def test_rows_are_stripped_and_empty_ones_and_duplicates_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"s": " a\\r"}\n\n{"s": null}\n{"s": "b"}\n{"s": "\\u2028"}\n{"s": "a"}\n')
    assert read_file(path, column="s") == Corpus(["a", "b"], rows=6, empty=3, duplicates=1)


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\0\ufeff"))))
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


@pytest.mark.parametrize("revision", [None, "v1"])
def test_a_file_of_a_data_set_on_the_hub_is_read_at_its_revision(
    revision: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "corpus.csv").write_text("text\na\nb\n")

    def download(repo_id: str, filename: str, *, repo_type: str, revision: str | None) -> str:
        asked.append((repo_id, filename, repo_type, revision))
        return str(tmp_path / Path(filename).name)

    asked: list[tuple[str, str, str, str | None]] = []
    monkeypatch.setattr("pipeline.data.hub.hf_hub_download", download)
    assert read_file(f"{HUB}en/corpus.csv", revision=revision).sentences == ["a", "b"]
    assert asked == [("owner/name", "en/corpus.csv", "dataset", revision)]


def test_a_hub_out_of_reach_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(
        InputError, match=r"cannot be fetched at revision 'v1' \(.*\); check name and connection"
    ) as caught:
        read_file(f"{HUB}corpus.txt", revision="v1")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("https://example.org/a.txt", "is no file on the hub; name one as hf://datasets/<owner>/"),
        ("hf://datasets/owner/name@main/a.txt", "is no file on the hub; name one as hf://"),
        (f"{HUB}a.docx", "is of an unknown format; allowed are .txt, "),
        ("{}", "is a folder; name one file in it."),
        ("{}/corpsu.txt", "does not exist; did you mean '{}/corpus.txt'?"),
        ("{}/empty.txt", "is empty; give a file with one sentence a row."),
        ("{}/blank.csv", "has 3 rows and all of them are empty; give a file with one sentence"),
        ("{}/other.csv", "has no column 'text'; set corpus.column to one of 'sentence'."),
    ],
)
def test_a_source_that_gives_no_sentence_is_named(
    source: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "empty.txt").touch()
    (tmp_path / "blank.csv").write_text('text\n""\n \n\n')
    (tmp_path / "corpus.txt").touch()
    (tmp_path / "other.csv").write_text("sentence\na\n")
    source, message = source.format(tmp_path), message.format(tmp_path)
    with pytest.raises(InputError) as caught:
        read_file(source)
    assert str(caught.value).startswith(f"corpus.source: {source!r} {message}")


def test_a_local_file_has_no_revisions(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^corpus\.revision: 'main' was given, but only hf://"):
        read_file(tmp_path / "corpus.txt", revision="main")


@pytest.mark.verify
@pytest.mark.skipif(not WIKI.exists(), reason=f"real data is not here: {WIKI.name} in shared/data")
def test_the_million_sentences_are_a_million_rows() -> None:
    corpus = read_file(WIKI)
    assert corpus.rows == 1_000_000
    assert len(corpus.sentences) + corpus.empty + corpus.duplicates == corpus.rows
