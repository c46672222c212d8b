"""Texts to embed: distinct ones of about one length, and a pool of all lengths.

Both are made of the sample corpus: the first half of one sentence and the second of another, so
that there are more of them than any server could remember. Lengths are counted with the model's
tokenizer, [CLS] and [SEP] included.
"""

from __future__ import annotations

import itertools
import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "data" / "sample" / "wiki.txt.xz"
_SPECIAL = 2  # tokens that a text gets besides its own
_ROUNDS = 200  # draws before we give up


@dataclass(frozen=True)
class Pool:
    """Texts of all lengths, and each one's number of tokens before any is cut off."""

    texts: list[str]
    tokens: list[int]


def read_tokenizer(encoder: Path) -> Tokenizer:
    """An encoder folder's tokenizer, which neither cuts off nor pads."""
    tokenizer = Tokenizer.from_file(str(encoder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def count_tokens(tokenizer: Tokenizer, texts: Sequence[str]) -> np.ndarray:
    """Tokens of each text."""
    return np.array([len(one.ids) for one in tokenizer.encode_batch_fast(list(texts))])


def distinct_texts(
    tokenizer: Tokenizer, count: int, *, shortest: int = 15, longest: int = 25, seed: int = 1
) -> list[str]:
    """Different texts of about 20 tokens, as the corpus' own sentences have.

    Args:
        tokenizer: counts tokens; a text has as many as its halves together.
        count: of texts.
        shortest: tokens at least.
        longest: tokens at most.
        seed: of the choice of halves.

    Raises:
        ValueError: the corpus is too small for so many.
    """
    heads, tails = _halves(_sentences())
    lengths = [count_tokens(tokenizer, half) - _SPECIAL for half in (heads, tails)]
    random = np.random.default_rng(seed)
    texts: dict[str, None] = {}
    for _ in range(_ROUNDS):
        chosen = random.integers(len(heads), size=(2, count))
        total = lengths[0][chosen[0]] + lengths[1][chosen[1]] + _SPECIAL
        fitting = chosen[:, (total >= shortest) & (total <= longest)].T.tolist()
        texts.update(dict.fromkeys(f"{heads[i]} {tails[j]}" for i, j in fitting))
        if len(texts) >= count:
            return list(itertools.islice(texts, count))
    raise ValueError(f"{CORPUS}: gives {len(texts)} different texts of this length, not {count}.")


def mixed_pool(tokenizer: Tokenizer, count: int, *, seed: int = 1) -> Pool:
    """Different texts from a few words to longer than encoders read, some not in plain ASCII."""
    sentences = _sentences()
    random = np.random.default_rng(seed)
    texts: dict[str, None] = {}
    while len(texts) < count:
        kind = random.choice(["words", "sentence", "paragraph", "long"], p=[0.3, 0.5, 0.15, 0.05])
        joined = {"words": 1, "sentence": 1, "paragraph": 5, "long": 30}[kind]
        parts = [sentences[i] for i in random.integers(len(sentences), size=joined)]
        if kind == "words":
            parts = parts[0].split()[: random.integers(1, 6)]
        elif kind == "sentence" and random.random() < 0.1:
            parts.insert(0, "Déjà vu: naïve 東京 🚀 —")
        texts[" ".join(parts)] = None
    pool = list(texts)
    return Pool(pool, count_tokens(tokenizer, pool).tolist())


def _sentences() -> list[str]:
    return lzma.decompress(CORPUS.read_bytes()).decode("utf-8").removesuffix("\n").split("\n")


def _halves(sentences: Iterable[str]) -> tuple[list[str], list[str]]:
    split = [one.split() for one in sentences]
    heads = [" ".join(words[: len(words) // 2]) for words in split if len(words) > 3]
    tails = [" ".join(words[len(words) // 2 :]) for words in split if len(words) > 3]
    return heads, tails
