"""The sentence-transformers folder layout: what surrounds the transformer in an encoder's folder.

Read: modules.json, sentence_bert_config.json, 1_Pooling/config.json in their old and new
spellings. Written: the old spelling, which every version reads. Not here: weights and tokenizer.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from pipeline.machine.errors import InputError

Pooling = Literal["cls", "mean", "max"]

# Tokenizers without a limit of their own carry a number like 10^30.
NO_LIMIT = 10**6

_MODES = {"cls": "cls_token", "mean": "mean_tokens", "max": "max_tokens"}


@dataclass(frozen=True)
class Layout:
    """How token states become one vector.

    Attributes:
        pooling: `cls` (first token), `mean` or `max` over the sentence's tokens.
        max_length: tokens, special ones included, after which a sentence is cut; None where the
            folder leaves it to model and tokenizer.
        normalize: whether embeddings are scaled to length one.
        lower_case: whether text is lower-cased before the tokenizer sees it.
    """

    pooling: Pooling
    max_length: int | None = None
    normalize: bool = False
    lower_case: bool = False

    @classmethod
    def read(cls, folder: Path, pooling: Pooling) -> "Layout":
        """Read a folder's layout; `pooling` is for folders that have no modules.json.

        Raises:
            InputError: the folder needs modules or a pooling that Triad lacks.
        """
        if pooling not in get_args(Pooling):
            raise InputError(
                f"pooling: no such pooling {pooling!r}; give {', '.join(get_args(Pooling))}."
            )
        if not (folder / "modules.json").is_file():
            return cls(pooling)
        kinds = {
            kind.rsplit(".", 1)[-1]: path for kind, path in _read_modules(folder / "modules.json")
        }
        unknown = kinds.keys() - {"Transformer", "Pooling", "Normalize"}
        if unknown or kinds.get("Transformer") != "" or "Pooling" not in kinds:
            raise InputError(
                f"{folder / 'modules.json'}: cannot use modules {', '.join(kinds) or 'none'}; "
                "Triad reads encoders made of a Transformer in the folder's root, Pooling and "
                "optionally Normalize."
            )
        settings = _read_json(folder / "sentence_bert_config.json", dict, missing={})
        prompt = _read_json(folder / "config_sentence_transformers.json", dict, missing={}).get(
            "default_prompt_name"
        )
        if prompt:
            raise InputError(
                f"{folder}: puts the prompt {prompt!r} before every text, which Triad cannot; "
                "take an encoder without default_prompt_name."
            )
        return cls(
            pooling=_read_pooling(folder / kinds["Pooling"] / "config.json"),
            max_length=_length(folder, settings.get("max_seq_length")),
            normalize="Normalize" in kinds,
            lower_case=bool(settings.get("do_lower_case", False)),
        )

    def write(self, folder: Path, dimension: int) -> None:
        """Write the layout of an encoder with `dimension` numbers an embedding."""
        kinds = ["Transformer", "Pooling", *(["Normalize"] if self.normalize else [])]
        paths = ["", "1_Pooling", "2_Normalize"][: len(kinds)]
        modules = [
            {
                "idx": index,
                "name": str(index),
                "path": path,
                "type": f"sentence_transformers.models.{kind}",
            }
            for index, (kind, path) in enumerate(zip(kinds, paths, strict=True))
        ]
        pooling: dict[str, Any] = {"word_embedding_dimension": dimension}
        for name, mode in _MODES.items():
            pooling[f"pooling_mode_{mode}"] = name == self.pooling
        for path in paths:
            (folder / path).mkdir(parents=True, exist_ok=True)
        _write_json(folder / "modules.json", modules)
        _write_json(folder / "1_Pooling" / "config.json", pooling)
        _write_json(
            folder / "sentence_bert_config.json",
            {"max_seq_length": self.max_length, "do_lower_case": self.lower_case},
        )


def longest_sentence(folder: Path, asked: int, positions: int | None, special: int) -> int:
    """Tokens after which a sentence is cut.

    Args:
        folder: the encoder's, for messages.
        asked: what the folder asks for, or else its tokenizer's limit.
        positions: tokens that the model has positions for; None where it takes any number.
        special: tokens that the tokenizer puts around a sentence.

    Raises:
        InputError: nothing sets a limit, or it leaves no room for a sentence.
    """
    longest = min(asked, positions or asked)
    if longest >= NO_LIMIT:
        raise InputError(
            f"{folder}: neither its model nor its tokenizer says how many tokens it takes; give "
            "model_max_length in its tokenizer_config.json."
        )
    if longest <= special:
        raise InputError(
            f"{folder}: a maximum length of {longest} leaves no room beside {special} special "
            "tokens; give a greater one."
        )
    return longest


def _read_modules(path: Path) -> list[tuple[str, str]]:
    """Type and path of each module."""
    modules = []
    for module in _read_json(path, list):
        match module:
            case {"type": str(kind), "path": str(place)}:
                modules.append((kind, place))
            case _:
                raise InputError(f"{path}: {module!r} is no module with a type and a path.")
    return modules


def _length(folder: Path, given: object) -> int | None:
    """The maximum length that sentence_bert_config.json gives, if any."""
    if given is None or (type(given) is int and given > 0):
        return given
    raise InputError(
        f"{folder / 'sentence_bert_config.json'}: max_seq_length must be a whole number above 0 "
        f"or null, got {given!r}."
    )


def _read_pooling(path: Path) -> Pooling:
    settings = _read_json(path, dict)
    prefix = "pooling_mode_"
    chosen = settings.get("pooling_mode") or [
        key.removeprefix(prefix)
        for key, value in settings.items()
        if key.startswith(prefix) and value is True
    ]
    for pooling in get_args(Pooling):
        if chosen in (pooling, [pooling], [_MODES[pooling]]):
            return pooling  # type: ignore[no-any-return]
    named = chosen if isinstance(chosen, str) else " + ".join(map(str, chosen)) or "none"
    raise InputError(
        f"{path}: cannot use pooling {named}; Triad reads one of {', '.join(get_args(Pooling))}."
    )


def _read_json(path: Path, kind: type, missing: Any = None) -> Any:
    if missing is not None and not path.is_file():
        return missing
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: not readable as JSON ({error}); the encoder's folder is incomplete."
        ) from error
    if not isinstance(content, kind):
        raise InputError(f"{path}: expected a JSON {kind.__name__}, got {content!r}.")
    return content


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
