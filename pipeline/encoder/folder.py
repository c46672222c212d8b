"""The sentence-transformers folder layout: what surrounds the transformer in an encoder's folder.

Read: modules.json, sentence_bert_config.json, 1_Pooling/config.json in their old and new
spellings, config_sentence_transformers.json. Written: the old spelling, which every version reads.
Not here: weights (encoder.py, dense.py) and tokenizer.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from pipeline.machine.errors import InputError

# What a backbone may be trained with.
Pooling = Literal["cls", "mean", "max"]

# Tokenizers without a limit of their own carry a number like 10^30.
NO_LIMIT = 10**6

# All poolings and their old spellings, in the order in which these are concatenated.
_MODES = {
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean": "pooling_mode_mean_tokens",
    "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
    "weightedmean": "pooling_mode_weightedmean_tokens",
    "lasttoken": "pooling_mode_lasttoken",
}


@dataclass(frozen=True)
class Layout:
    """How token states become one vector."""

    pooling: str  # such as `mean`; several are concatenated, `cls+mean`
    max_length: int | None = None  # tokens; None: model and tokenizer decide
    normalize: bool = False  # embeddings are scaled to length one
    lower_case: bool = False  # before the tokenizer sees a text
    dense: tuple[str, ...] = ()  # folders of the Dense modules behind the pooling
    truncate_dim: int | None = None  # first numbers of an embedding that are kept; None: all
    prompts: Mapping[str, str] = field(default_factory=dict)  # texts before a sentence, by name
    default_prompt: str | None = None  # its name, where one is put before every sentence

    @classmethod
    def read(cls, folder: Path, pooling: str) -> "Layout":
        """Read a folder's layout; `pooling` is for folders that have no modules.json.

        Raises:
            InputError: the folder needs modules or a pooling that Triad lacks.
        """
        if pooling not in _MODES:
            raise InputError(
                f"pooling: no such pooling {pooling!r}; give {', '.join(get_args(Pooling))}."
            )
        if not (folder / "modules.json").is_file():
            return cls(pooling)
        modules = _read_modules(folder / "modules.json")
        kinds = [kind for kind, _ in modules]
        behind = [kind for kind in kinds[2:] if kind != "Dropout"]  # which does nothing here
        first_normalize = behind.index("Normalize") if "Normalize" in behind else len(behind)
        if (
            kinds[:2] != ["Transformer", "Pooling"]
            or modules[0][1] != ""
            or set(behind[:first_normalize]) - {"Dense"}
            or set(behind[first_normalize:]) - {"Normalize"}
        ):
            raise InputError(
                f"{folder / 'modules.json'}: cannot use modules {', '.join(kinds) or 'none'}; "
                "Triad reads encoders made of a Transformer in the folder's root, Pooling and "
                "optionally Dense, Dropout and, behind these, Normalize."
            )
        settings = _read_json(folder / "sentence_bert_config.json", dict, missing={})
        own_file = folder / "config_sentence_transformers.json"
        own = _read_json(own_file, dict, missing={})
        pooling_file = folder / modules[1][1] / "config.json"
        prompts = _prompts(own_file, own)
        if any(prompts.values()) and _read_json(pooling_file, dict).get("include_prompt") is False:
            raise InputError(
                f"{pooling_file}: leaves the prompt's tokens out of the pooling, which Triad "
                "cannot; take an encoder without include_prompt: false."
            )
        return cls(
            pooling=_read_pooling(pooling_file),
            max_length=_length(folder / "sentence_bert_config.json", settings, "max_seq_length"),
            normalize="Normalize" in behind,
            lower_case=bool(settings.get("do_lower_case", False)),
            dense=tuple(place for kind, place in modules if kind == "Dense"),
            truncate_dim=_length(own_file, own, "truncate_dim"),
            prompts=prompts,
            default_prompt=own.get("default_prompt_name"),
        )

    def prompt(self) -> str:
        """What is put before every sentence."""
        return "" if self.default_prompt is None else self.prompts[self.default_prompt]

    def check_trainable(self, source: str) -> None:
        """Refuse what is not trained, and what `write` does not write.

        Raises:
            InputError: names it.
        """
        more = {
            "a Dense module": self.dense,
            f"pooling {self.pooling}": self.pooling not in get_args(Pooling),
            f"a truncate_dim of {self.truncate_dim}": self.truncate_dim,
            f"the prompt {self.default_prompt!r} before every text": self.prompt(),
        }
        for what, has in more.items():
            if has:
                raise InputError(
                    f"{source}: has {what}, which cannot be trained; take a backbone of a "
                    f"Transformer and {', '.join(get_args(Pooling))} pooling."
                )

    def write(self, folder: Path, dimension: int) -> None:
        """Write the layout of an encoder with `dimension` numbers an embedding.

        Raises:
            InputError: `check_trainable` refuses it.
        """
        self.check_trainable(str(folder))
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
        for name in get_args(Pooling):
            pooling[_MODES[name]] = name == self.pooling
        for path in paths:
            (folder / path).mkdir(parents=True, exist_ok=True)
        _write_json(folder / "modules.json", modules)
        _write_json(folder / "1_Pooling" / "config.json", pooling)
        _write_json(
            folder / "sentence_bert_config.json",
            {"max_seq_length": self.max_length, "do_lower_case": self.lower_case},
        )


def plain_pooling(folder: Path) -> str:
    """What sentence-transformers takes for a folder without modules.json.

    That is the mean, or the last token of a model that was made to continue texts.

    Raises:
        InputError: the folder's config.json is damaged.
    """
    config = _read_json(folder / "config.json", dict, missing={})
    architecture = str((config.get("architectures") or [""])[0])
    causal = architecture.endswith("ForCausalLM") and config.get("is_causal", True)
    return "lasttoken" if causal else "mean"


def longest_sentence(folder: Path, limit: int, positions: int | None, special: int) -> int:
    """Tokens after which a sentence is cut.

    Args:
        folder: the encoder's, for messages.
        limit: what the folder asks for, or else its tokenizer's limit.
        positions: tokens that the model has positions for; None where it takes any number.
        special: tokens that the tokenizer puts around a sentence.

    Raises:
        InputError: nothing sets a limit, or it leaves no room for a sentence.
    """
    longest = min(limit, positions or limit)
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
                modules.append((kind.rsplit(".", 1)[-1], place))
            case _:
                raise InputError(f"{path}: {module!r} is no module with a type and a path.")
    return modules


def _length(path: Path, settings: Mapping[str, Any], name: str) -> int | None:
    """A length that a file gives, if it does."""
    value = settings.get(name)
    if value is None or (type(value) is int and value > 0):
        return value
    raise InputError(f"{path}: {name} must be a whole number above 0 or null, got {value!r}.")


def _prompts(path: Path, settings: Mapping[str, Any]) -> dict[str, str]:
    prompts = settings.get("prompts") or {}
    if not isinstance(prompts, dict) or not all(
        isinstance(text, str | None) for text in prompts.values()
    ):
        raise InputError(f"{path}: prompts must be texts by their names, got {prompts!r}.")
    default = settings.get("default_prompt_name")
    if default is not None and default not in prompts:
        names = ", ".join(prompts) or "none"
        raise InputError(
            f"{path}: there is no prompt {default!r} (default_prompt_name); there are: {names}."
        )
    return {name: text or "" for name, text in prompts.items()}


def _read_pooling(path: Path) -> str:
    settings = _read_json(path, dict)
    pooling_modes = settings.get("pooling_mode") or [
        mode for mode, old in _MODES.items() if settings.get(old) is True
    ]
    modes = [pooling_modes] if isinstance(pooling_modes, str) else list(pooling_modes)
    if not modes or not set(modes) <= _MODES.keys():
        raise InputError(
            f"{path}: cannot use pooling {' + '.join(map(str, modes)) or 'none'}; Triad reads "
            f"{', '.join(_MODES)} and several of them together."
        )
    return "+".join(modes)


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
