"""Graded captions of data/sample as the page uses them: pairs, and sentences to begin with.

Both are empty where the page runs without that file.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).parents[1] / "data" / "sample" / "stsb_captions.tsv"


@dataclass(frozen=True)
class GradedPair:
    """Two sentences and how alike people find them, 0 to 5."""

    first: str
    second: str
    gold: float


@cache
def graded_pairs() -> tuple[GradedPair, ...]:
    """Its test pairs; tabs stand between columns, nothing is quoted."""
    text = _FILE.read_text(encoding="utf-8") if _FILE.is_file() else ""
    rows = [line.split("\t") for line in text.split("\n")]
    return tuple(GradedPair(row[3], row[4], float(row[2])) for row in rows if row[0] == "test")


@cache
def sentences(count: int) -> tuple[str, ...]:
    """So many different sentences, evenly spread over the pairs."""
    different = list(dict.fromkeys(pair.first for pair in graded_pairs()))
    count = min(count, len(different))
    return tuple(different[index * len(different) // count] for index in range(count))


# Pairs of the sample to begin with: the kind of question, and both sentences as they stand there.
PROBES = (
    ("paraphrase", "a deer jumps a fence .", "a deer is jumping over a fence ."),
    ("paraphrase", "a blue bird standing on a lawn .", "blue bird standing on green grass ."),
    ("paraphrase", "there is a cook preparing food .", "a cook is making food ."),
    (
        "negation",
        "the lady looks sad because no one is buying her wares .",
        "the lady is selling things .",
    ),
    (
        "negation",
        "a boy is very close to a girl .",
        "a girl is close to a boy whose face is not shown .",
    ),
    ("number", "three men sit on a bench .", "two men sit on a bench ."),
    ("number", "three women cook .", "two women cooking ."),
    ("number", "there are four people outside .", "five people are outside ."),
    ("role", "a man is laughing with a woman", "a man and a woman laughing ."),
    ("role", "the boy is raising his hand .", "the man is raising his hand ."),
    ("topic", "two women in a clothing store .", "two women in a sailboat ."),
    ("topic", "three men posing in a tent .", "three men eating in a kitchen ."),
)
