"""A preparation of sixty sentences, and what is read back of it."""

from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from pipeline.data.prepared import Report
from pipeline.data.tokens import TokenArrays
from pipeline.prepare import prepare

ROOT = Path(__file__).parents[2]
BERT = ROOT / "backbones/bert-mini-wiki"
SAMPLE = ROOT / "data/sample/corpus.txt"
LENGTH = 12


def run(source: Path, out: Path, **changes: Any) -> Report:
    arguments: dict[str, Any] = {
        "revision": None,
        "column": "text",
        "backbone": str(BERT),
        "max_length": LENGTH,
        "held_out": 0.1,
        "seed": 3,
        "minimum": 2,
    }
    return prepare(source=str(source), out=out, **(arguments | changes))


def stored(folder: Path) -> list[list[int]]:
    arrays = TokenArrays.load(folder)
    return [arrays[index].tolist() for index in range(len(arrays))]


def expected(source: Path, backbone: Path, max_length: int | None = LENGTH) -> list[list[int]]:
    rows = source.read_text(encoding="utf-8").split("\n")
    sentences = list(dict.fromkeys(row for row in rows if row))
    tokenizer = AutoTokenizer.from_pretrained(backbone)
    cut = max_length is not None
    ids = tokenizer(sentences, truncation=cut, max_length=max_length, verbose=False)["input_ids"]
    return [list(row) for row in ids]


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
