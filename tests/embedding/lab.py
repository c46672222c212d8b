"""Inputs of a few rows, the command on them, and an encoder that costs nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pipeline.embed import main
from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.folder import Layout
from tests.tiny import corpus

CHUNK = 8
SENTENCES = [
    *corpus()[:15],
    "",
    "  spaces around it ",
    "a separator \u2028 and a form feed \f inside",
    corpus()[0],  # in another chunk than its twin
    *[corpus()[20]] * 2,
    " ".join(corpus()[:20]),  # longer than any tiny backbone takes
]


def write_text(path: Path, sentences: Sequence[str] = SENTENCES) -> Path:
    path.write_bytes("".join(f"{sentence}\n" for sentence in sentences).encode())
    return path


def table(sentences: Sequence[str] = SENTENCES, column: str = "text") -> pa.Table:
    return pa.table({"id": list(range(len(sentences))), column: list(sentences)})


def write_parquet(path: Path, rows: pa.Table | None = None, row_group: int = 5) -> Path:
    parquet.write_table(table() if rows is None else rows, path, row_group_size=row_group)
    return path


def write_folder(path: Path) -> Path:
    """SENTENCES in two files, beside what other programs leave."""
    path.mkdir()
    write_parquet(path / "b.parquet", table().slice(9))
    write_parquet(path / "a.parquet", table().slice(0, 9))
    (path / "_SUCCESS").touch()
    (path / "_part.parquet").touch()
    return path


def options(encoder: Path) -> list[str]:
    chunk = ["--chunk", str(CHUNK), "--batch-size", "4"]
    return ["--encoder", str(encoder), *chunk, "--device", "cpu"]


def embed(source: Path, output: Path, encoder: Path, *more: str) -> int:
    return main([str(source), str(output), *options(encoder), *more])


def reference(encoder: Path) -> np.ndarray:
    """What SentenceEncoder.encode gives, chunk by chunk."""
    loaded = SentenceEncoder.load(encoder, "cpu")
    starts = range(0, len(SENTENCES), CHUNK)
    return np.concatenate([loaded.encode(SENTENCES[i : i + CHUNK], 4) for i in starts])


def embeddings(path: Path) -> np.ndarray:
    """Of either kind of output."""
    if path.suffix == ".npy":
        return np.asarray(np.load(path))
    return np.stack(parquet.read_table(path)["embedding"].to_numpy())


@dataclass
class FakeEncoder:
    """Stands in for a SentenceEncoder; its embeddings repeat the sentence's length."""

    dimension: int = 64
    layout: Layout = field(default_factory=lambda: Layout("cls", 64))
    value: float = 1.0
    seen: list[int] = field(default_factory=list)
    watch: Callable[[], None] = lambda: None

    def encode(self, sentences: Sequence[str], batch_size: int) -> np.ndarray:
        self.seen.append(len(sentences))
        self.watch()
        lengths = np.array([len(sentence) for sentence in sentences], np.float32)
        return np.repeat(lengths[:, None] * np.float32(self.value), self.dimension, axis=1)


@dataclass
class Run:
    """The command on one input, and what it says."""

    source: Path
    output: Path
    encoder: Path
    said: pytest.CaptureFixture[str]

    @property
    def folder(self) -> Path:
        return self.output.parent

    @property
    def parts(self) -> Path:
        return self.output.with_name(f"{self.output.name}.parts")

    def __call__(self, *more: str) -> int:
        return embed(self.source, self.output, self.encoder, *more)

    def refused(self, *more: str) -> str:
        """The one sentence of a run that ends with status 1."""
        self.said.readouterr()
        assert self(*more) == 1
        (line,) = self.said.readouterr().err.splitlines()
        assert line.startswith("embed: ")
        return line.removeprefix("embed: ")

    def stopped(self, fake: FakeEncoder, after: int = 1) -> None:
        """By Ctrl-C, so many chunks being finished."""

        def watch() -> None:
            if len(fake.seen) > after:
                raise KeyboardInterrupt

        fake.watch = watch
        assert self() == 130
        fake.watch = lambda: None
        fake.seen.clear()
