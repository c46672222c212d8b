"""Text -> token ids as an encoder takes them, and ids of clients -> the same.

Here is what the exported tokenizer.json does with them; not here: what requests may contain
(contract.py) and how token lists become batches (batcher.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tokenizers import Tokenizer


@dataclass(frozen=True)
class TextTokenizer:
    """A tokenizer with the limit and the special tokens of its encoder.

    Attributes:
        tokenizer: neither cuts nor pads.
        max_length: tokens, special ones included, after which a text is cut.
        head: special ids before a text.
        tail: special ids behind it.
    """

    tokenizer: Tokenizer
    max_length: int
    head: tuple[int, ...]
    tail: tuple[int, ...]

    @classmethod
    def load(cls, file: Path, max_length: int) -> "TextTokenizer":
        """Read tokenizer.json."""
        tokenizer = Tokenizer.from_file(str(file))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        probe = tokenizer.encode("a")
        inside = probe.special_tokens_mask.index(0)
        behind = probe.special_tokens_mask[::-1].index(0)
        ids = probe.ids
        head, tail = tuple(ids[:inside]), tuple(ids[len(ids) - behind :])
        return cls(tokenizer, max_length, head, tail)

    @cached_property
    def vocabulary(self) -> int:
        """One more than the largest token id."""
        return int(max(self.tokenizer.get_vocab().values())) + 1

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of whole texts, special ones included, nothing cut."""
        return [encoding.ids for encoding in self.tokenizer.encode_batch_fast(list(texts))]

    def complete(self, ids: list[int]) -> list[int]:
        """A client's ids with the special tokens around them; unchanged if they have them."""
        head, tail = list(self.head), list(self.tail)
        room = len(ids) >= len(head) + len(tail)
        if room and ids[: len(head)] == head and ids[len(ids) - len(tail) :] == tail:
            return ids
        return head + ids + tail

    def cut(self, ids: list[int]) -> list[int]:
        """At most max_length ids: a long text loses its last tokens, not the special ones."""
        if len(ids) <= self.max_length:
            return ids
        return ids[: self.max_length - len(self.tail)] + list(self.tail)

    def token(self, index: int) -> str:
        """A token as the vocabulary writes it."""
        return str(self.tokenizer.id_to_token(index))
