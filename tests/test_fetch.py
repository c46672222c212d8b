"""Bringing the data in: what is taken, what is refused, and that nothing half-written is left."""

import io
import stat
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from pipeline.fetch import ARCHIVES, fetch, main
from pipeline.machine.errors import InputError
from pipeline.senteval.known import SIMCSE
from tests.real import REAL, SAMPLE, needs_real_data
from tests.tiny import Refused, contents

TASKS = {
    name: content for name, content in contents(SAMPLE).items() if name.startswith(("MR", "TREC"))
}
PARTS = {".tar": "w", ".tar.gz": "w:gz", ".tgz": "w:gz", ".tar.xz": "w:xz"}


def pack(path: Path, files: Mapping[str, bytes], *links: tarfile.TarInfo) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return path
    mode = next(mode for suffix, mode in PARTS.items() if path.name.endswith(suffix))
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for link in links:
            tar.addfile(link)
    return path


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "external").mkdir()
    return tmp_path / "external" / "senteval"


def refuses(source: Path | str, out: Path, message: str) -> None:
    """With one sentence, and leaving nothing."""
    with pytest.raises(InputError, match=message):
        fetch(str(source), out)
    assert list(out.parent.iterdir()) == []


# What is taken


def test_a_folder_is_copied_task_by_task(tmp_path: Path, out: Path) -> None:
    assert fetch(str(SAMPLE), out) == {"STS-B": "other", "MR": "other", "TREC": "other"}
    assert TASKS.items() <= contents(out).items()
    assert "corpus.txt" not in contents(out)
    assert [path.name for path in out.parent.iterdir()] == ["senteval"]


@pytest.mark.parametrize(
    ("suffix", "above"),
    [*((suffix, "") for suffix in ARCHIVES), (".tar", "./"), (".zip", "SentEval/data/downstream/")],
)
def test_every_kind_of_archive_gives_the_same_folder(
    suffix: str, above: str, tmp_path: Path, out: Path
) -> None:
    files = {f"{above}{name}": content for name, content in TASKS.items()}
    beside = {f"{above}SNLI/s1.train": b"x", f"{above}MR/._rt-polarity.pos": b"x"}
    path = pack(tmp_path / f"archive{suffix}", files | beside)
    assert fetch(str(path), out) == {"MR": "other", "TREC": "other"}
    assert contents(out) == TASKS


def test_a_link_within_an_archive_is_followed(tmp_path: Path, out: Path) -> None:
    files = {name: content for name, content in TASKS.items() if "neg" not in name}
    links = [link("MR/rt-polarity.neg", "../MR/./rt-polarity.pos")]
    fetch(str(pack(tmp_path / "a.tar", files, *links)), out)
    copied = contents(out)
    assert copied["MR/rt-polarity.neg"] == copied["MR/rt-polarity.pos"]


@needs_real_data
def test_the_published_files_are_recognized(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--source", str(REAL), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.count("benchmark\n") == 14
    assert said.endswith(f"Written to {out}.\n")


def test_the_terminal_says_what_came_and_what_is_not_the_benchmark(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--source", str(SAMPLE), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "STS12   missing\n" in said
    assert "MR      other\n" in said
    assert "The files of STS-B, MR, TREC are not the published benchmark's" in said


def test_unsafe_paths_and_links_in_a_zip_file_reach_nothing(tmp_path: Path, out: Path) -> None:
    unsafe = {"/etc/MR/x", "MR/../../x", "MR\\..\\..\\x", "C:/MR/x"}
    path = pack(tmp_path / "a.zip", TASKS | dict.fromkeys(unsafe, b"x"))
    member = zipfile.ZipInfo("MR/link")
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(member, "/etc/passwd")
    fetch(str(path), out)
    assert contents(out) == TASKS | {"MR/link": b"/etc/passwd"}
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.zip", "external"]


# What is refused


WITHOUT_A_FILE = {name: content for name, content in TASKS.items() if not name.endswith("neg")}
TWICE = {f"{place}/{name}": b"x\n" for place in ("a", "b") for name in TASKS}
OUTSIDE = "lies outside of the archive"
NO_TASK = "holds none of the fourteen tasks; it must have files such as STS/"


@pytest.mark.parametrize(
    ("files", "links", "said"),
    [
        (TASKS, [link("../MR/x", "", tarfile.REGTYPE)], rf"'\.\./MR/x', which {OUTSIDE}"),
        (TASKS, [link("MR/x", "/etc/passwd")], f"'MR/x', a link to '/etc/passwd', which {OUTSIDE}"),
        (TASKS, [link("MR/x", "../../x")], rf"'MR/x', a link to .*, which {OUTSIDE}"),
        (TASKS, [link("x", "../x", tarfile.LNKTYPE)], rf"'x', a link to '\.\./x', which {OUTSIDE}"),
        (TASKS, [link("x", "absent", tarfile.LNKTYPE)], "damaged or cut short .*'absent' not foun"),
        (TASKS, [link("MR/x", "", tarfile.FIFOTYPE)], "'MR/x', a device; nothing was unpacked"),
        (WITHOUT_A_FILE, [link("MR/rt-polarity.neg", "absent")], r"rt-polarity\.neg is missing"),
        # The source is named, not the place where it was unpacked.
        (WITHOUT_A_FILE, [], r"^\S*a\.tar/MR/rt-polarity\.neg is missing"),
        (TASKS | {"MR/rt-polarity.neg": b""}, [], r"^\S*a\.tar/MR/rt-polarity\.neg was cut short"),
        ({"README": b"x"}, [], NO_TASK),
        (TWICE, [], r"tasks in several places \(a/, b/\); unpack it"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_archive_that_reaches_out_of_itself_or_does_not_hold_the_tasks(
    files: dict[str, bytes], links: list[tarfile.TarInfo], said: str, tmp_path: Path, out: Path
) -> None:
    refuses(pack(tmp_path / "a.tar", files, *links), out, said)


def test_a_zip_file_with_a_password(tmp_path: Path, out: Path) -> None:
    path = pack(tmp_path / "a.zip", TASKS)
    content = bytearray(path.read_bytes())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(header) + flags] |= 1
    path.write_bytes(content)
    refuses(path, out, r"a\.zip needs a password; give an archive without one")


@pytest.mark.parametrize("suffix", ARCHIVES)
def test_an_archive_that_was_cut_short(suffix: str, tmp_path: Path, out: Path) -> None:
    path = pack(tmp_path / f"archive{suffix}", TASKS)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    refuses(path, out, rf"source: .*archive{suffix} is damaged or cut short \(.*\); fetch it again")


def test_a_source_or_a_revision_that_is_none(tmp_path: Path, out: Path) -> None:
    refuses(tmp_path / "absent", out, r"does not exist; give a folder, an archive \(\.tar, .*hf://")
    (tmp_path / "data.rar").write_bytes(b"x")
    refuses(tmp_path / "data.rar", out, r"is no folder and no archive ending in \.tar, \.tar\.gz")
    refuses("https://example.org/a.tar", out, "is no file on the hub; name one as hf://datasets/")
    refuses(out.parent, out, NO_TASK)
    with pytest.raises(InputError, match=r"revision: v1 was given, but .* is not on the hub"):
        fetch(str(SAMPLE), out, "v1")


def test_a_folder_that_is_taken(out: Path, refused: Refused) -> None:
    out.mkdir()
    (out / "mine").write_text("kept")
    expected = f"fetch: out: {out} is already there; remove it or name another folder.\n"
    assert refused(main(["--source", str(SAMPLE), "--out", str(out)])) == expected
    assert contents(out) == {"mine": b"kept"}


# The hub


def test_an_archive_on_the_hub(tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = pack(tmp_path / "senteval.tar", TASKS)
    monkeypatch.setattr("pipeline.data.hub.hf_hub_download", lambda *_, **__: str(archive))
    assert fetch(SIMCSE, out) == {"MR": "other", "TREC": "other"}
    assert contents(out) == TASKS
