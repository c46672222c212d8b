"""Values of a request's fields: plain JSON -> texts and token ids, or the sentence that says which.

Not here: which request has which fields (contract.py).
"""

from typing import Annotated

from pydantic import PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

Input = str | list[int]

# Of a hyperparameter that is a word; of one that is a whole number, which float64 has exactly.
_LONGEST_WORD, _GREATEST_WHOLE = 40, 1 << 53


def read_text(value: object, name: str) -> str:
    """A text that has something to encode."""
    if not isinstance(value, str):
        raise wrong(f"{name}: expected a text, got {kind(value)}.")
    if not value or value.isspace():
        what = "blank" if value else "empty"
        raise wrong(f"{name}: the text is {what}; give one that says something.")
    return value


def read_texts(value: object, name: str) -> list[str]:
    """A list of texts, not empty."""
    if not isinstance(value, list):
        raise wrong(f"{name}: expected a list of texts, got {kind(value)}.")
    if not value:
        raise wrong(f"{name}: the list is empty; give at least one text.")
    return [read_text(item, f"{name}[{index}]") for index, item in enumerate(value)]


def read_inputs(value: object) -> list[Input]:
    """OpenAI's `input`: a text, texts, token ids, or lists of token ids."""
    if isinstance(value, str):
        return [read_text(value, "input")]
    if not isinstance(value, list):
        raise wrong(
            "input: expected a text, a list of texts, a list of token ids or a list of such "
            f"lists, got {kind(value)}."
        )
    if value and _is_id(value[0]):
        return [_read_ids(value, "input")]
    if value and isinstance(value[0], list):
        return [_read_ids(item, f"input[{index}]") for index, item in enumerate(value)]
    return list(read_texts(value, "input"))


def _read_ids(value: object, name: str) -> list[int]:
    if not isinstance(value, list):
        raise wrong(f"{name}: expected a list of token ids, got {kind(value)}.")
    if not value:
        raise wrong(f"{name}: the list is empty; give at least one token id.")
    for index, item in enumerate(value):
        if not _is_id(item):
            raise wrong(f"{name}[{index}]: expected a token id, got {kind(item)}.")
        if item < 0:
            raise wrong(f"{name}[{index}]: expected a token id, got a negative number.")
    return value


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def read_pairs(value: object) -> list[tuple[str, str]]:
    """A list of pairs of texts, not empty."""
    if not isinstance(value, list) or not value:
        got = "an empty one" if value == [] else kind(value)
        raise wrong(f"pairs: expected a list of pairs of texts, got {got}.")
    pairs = []
    for index, pair in enumerate(value):
        name = f"pairs[{index}]"
        if not isinstance(pair, list) or len(pair) != 2:
            got = f"a list of {len(pair)}" if isinstance(pair, list) else kind(pair)
            raise wrong(f"{name}: expected two texts, got {got}.")
        pairs.append((read_text(pair[0], f"{name}[0]"), read_text(pair[1], f"{name}[1]")))
    return pairs


def read_hyperparameters(value: object) -> dict[str, float | str] | None:
    """An object of numbers and words, or nothing."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise wrong(f"hyperparameters: expected an object, got {kind(value)}.")
    return {name: _read_setting(name[:40], one) for name, one in value.items()}


def _read_setting(name: str, value: object) -> float | str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise wrong(
            f"hyperparameters: expected a number or a word for {name!r}, got {kind(value)}."
        )
    if isinstance(value, str) and len(value) > _LONGEST_WORD:
        raise wrong(f"hyperparameters: the word for {name!r} is too long; give a shorter one.")
    if isinstance(value, int) and abs(value) > _GREATEST_WHOLE:
        # torch takes whole numbers of 64 bits only; these are not exact in its arithmetic anyway.
        raise wrong(
            f"hyperparameters: the whole number for {name!r} is too large; write it as 1e30."
        )
    return value


Settings = Annotated[
    dict[str, int | float | str] | None,
    PlainValidator(read_hyperparameters),
    WithJsonSchema(
        {"type": ["object", "null"], "additionalProperties": {"type": ["number", "string"]}}
    ),
]


def kind(value: object) -> str:
    """What a JSON value is, in words."""
    kinds = {str: "a text", bool: "true or false", int: "a number", float: "a number"}
    more = {list: "a list", dict: "an object", type(None): "null"}
    return (kinds | more).get(type(value), type(value).__name__)


def wrong(message: str) -> PydanticCustomError:
    """For pydantic: a message that names the field itself."""
    return PydanticCustomError("wrong", "{message}", {"message": message})
