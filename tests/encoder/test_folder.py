"""What surrounds the transformer: both spellings are read, what Triad lacks is refused by name."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from pipeline.encoder.folder import Layout, Pooling, longest_sentence
from pipeline.machine.errors import InputError

KINDS = ["Transformer", "Pooling"]


def modules(*kinds: str, prefix: str = "models") -> list[dict[str, str]]:
    return [
        {
            "path": f"{place}_{kind}" if place else "",
            "type": f"sentence_transformers.{prefix}.{kind}",
        }
        for place, kind in enumerate(kinds)
    ]


def write(folder: Path, kinds: list[str], pooling: object, prefix: str = "models") -> Path:
    listed = json.dumps(modules(*kinds, prefix=prefix))
    (folder / "modules.json").write_text(listed, encoding="utf-8")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")
    return folder


@pytest.mark.parametrize("pooling", get_args(Pooling))
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("lower_case", [True, False])
def test_what_is_written_is_read_again(
    tmp_path: Path, pooling: Pooling, normalize: bool, lower_case: bool
) -> None:
    layout = Layout(pooling, 9, normalize, lower_case)
    layout.write(tmp_path, 32)
    assert Layout.read(tmp_path, "cls") == layout


@pytest.mark.parametrize(
    ("pooling", "settings"),
    [
        ("cls", {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}),
        ("mean", {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}),
        ("mean_sqrt_len_tokens", {"pooling_mode_mean_sqrt_len_tokens": True}),
        ("weightedmean", {"pooling_mode_weightedmean_tokens": True}),
        ("cls+max", {"pooling_mode_max_tokens": True, "pooling_mode_cls_token": True}),
        ("cls", {"pooling_mode": "cls", "embedding_dimension": 32}),
        ("mean", {"pooling_mode": "mean", "include_prompt": True}),
        ("max", {"pooling_mode": ["max"]}),
        ("mean+cls", {"pooling_mode": ["mean", "cls"]}),
        ("lasttoken", {"pooling_mode": "lasttoken"}),
    ],
)
def test_old_and_new_spellings_of_pooling_are_read(
    tmp_path: Path, pooling: str, settings: dict[str, Any]
) -> None:
    assert Layout.read(write(tmp_path, KINDS, settings), "cls").pooling == pooling


@pytest.mark.parametrize("prefix", ["models", "base.modules.some_file"])
def test_modules_are_known_by_their_last_name(tmp_path: Path, prefix: str) -> None:
    folder = write(tmp_path, [*KINDS, "Normalize"], {"pooling_mode": "mean"}, prefix)
    assert Layout.read(folder, "cls") == Layout("mean", normalize=True)


OWN = "config_sentence_transformers.json"
POOLING = "1_Pooling/config.json"
NO_LENGTH = "must be a whole number above 0 or null, got"
NO_MODULE = "is no module with a type and a path"
REFUSED: list[tuple[str, object, str]] = [
    (
        POOLING,
        {"pooling_mode": ["cls", "median"]},
        r"cannot use pooling cls \+ median; Triad reads",
    ),
    (POOLING, {}, "cannot use pooling none; Triad reads cls, max, mean"),
    (POOLING, b"\xff\xfe", "not readable as JSON"),
    (POOLING, 3, "expected a JSON dict, got 3"),
    ("modules.json", modules("Transformer"), "cannot use modules Transformer; Triad reads"),
    ("modules.json", modules(*KINDS, "CNN"), "cannot use modules Transformer, Pooling, CNN;"),
    ("modules.json", modules(*KINDS, "Normalize", "Dense"), "modules .*, Normalize, Dense;"),
    ("modules.json", modules("WordEmbeddings", "Pooling"), "modules WordEmbeddings, Pooling;"),
    ("modules.json", modules("Pooling"), "cannot use modules Pooling;"),
    ("modules.json", [], "cannot use modules none;"),
    ("modules.json", b"\xff\xfe", "not readable as JSON"),
    ("modules.json", 3, "expected a JSON list, got 3"),
    ("modules.json", [1], f"1 {NO_MODULE}"),
    ("modules.json", [{"type": "Pooling"}], NO_MODULE),
    ("modules.json", [{"type": None, "path": ""}], NO_MODULE),
    ("modules.json", [{"type": "Pooling", "path": 3}], NO_MODULE),
    (OWN, {"default_prompt_name": "q"}, r"no prompt 'q' \(default_prompt_name\); there are: none"),
    (OWN, {"prompts": {"q": 1}}, "prompts must be texts by their names, got {'q': 1}"),
    (OWN, {"prompts": "q"}, "prompts must be texts by their names, got 'q'"),
    (OWN, {"truncate_dim": 0}, f"truncate_dim {NO_LENGTH} 0"),
    ("sentence_bert_config.json", {"max_seq_length": "x"}, f"max_seq_length {NO_LENGTH} 'x'"),
    ("sentence_bert_config.json", {"max_seq_length": 0}, f"max_seq_length {NO_LENGTH} 0"),
    ("sentence_bert_config.json", {"max_seq_length": 2.5}, f"max_seq_length {NO_LENGTH} 2.5"),
    ("sentence_bert_config.json", {"max_seq_length": True}, f"max_seq_length {NO_LENGTH} True"),
]


@pytest.mark.parametrize(("name", "content", "message"), REFUSED)
def test_what_triad_cannot_use_is_refused_with_the_file_that_says_it(
    tmp_path: Path, name: str, content: object, message: str
) -> None:
    write(tmp_path, KINDS, {"pooling_mode": "cls"})
    written = content if isinstance(content, bytes) else json.dumps(content).encode()
    (tmp_path / name).write_bytes(written)
    with pytest.raises(InputError, match=f"{name}: .*{message}"):
        Layout.read(tmp_path, "cls")


def test_a_folder_without_modules_takes_the_pooling_that_is_asked_for(tmp_path: Path) -> None:
    assert Layout.read(tmp_path, "max") == Layout("max")
    assert Layout.read(tmp_path / "not-there", "mean") == Layout("mean")


def test_a_folder_with_modules_decides_itself(tmp_path: Path) -> None:
    assert Layout.read(write(tmp_path, KINDS, {"pooling_mode": "cls"}), "mean").pooling == "cls"


def test_what_is_around_the_pooling_is_read(tmp_path: Path) -> None:
    kinds = [*KINDS, "Dense", "Dropout", "Dense", "Normalize"]
    folder = write(tmp_path, kinds, {"pooling_mode": "cls"})
    (folder / OWN).write_text(
        '{"prompts": {"q": "query: ", "p": null}, "default_prompt_name": "q", "truncate_dim": 8}',
        encoding="utf-8",
    )
    layout = Layout.read(folder, "mean")
    assert layout.dense == ("2_Dense", "4_Dense")
    assert layout.normalize
    assert (layout.prompts, layout.default_prompt) == ({"q": "query: ", "p": ""}, "q")
    assert (layout.prompt(), layout.truncate_dim) == ("query: ", 8)


@pytest.mark.parametrize(
    ("layout", "what"),
    [
        (Layout("mean", dense=("2_Dense",)), "a Dense module"),
        (Layout("cls+mean"), r"pooling cls\+mean"),
        (Layout("mean", truncate_dim=8), "a truncate_dim of 8"),
        (Layout("mean", prompts={"q": "query: "}, default_prompt="q"), "the prompt 'q' before"),
    ],
)
def test_what_is_not_trained_is_not_written(tmp_path: Path, layout: Layout, what: str) -> None:
    with pytest.raises(InputError, match=f"has {what}.*, which cannot be trained; take a backbone"):
        layout.write(tmp_path, 32)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("asked", "positions", "expected"),
    [(64, 64, 64), (9999, 64, 64), (32, 64, 32), (10**30, 64, 64), (64, None, 64)],
)
def test_a_sentence_has_no_more_tokens_than_asked_for_and_than_positions(
    asked: int, positions: int | None, expected: int
) -> None:
    assert longest_sentence(Path("encoder"), asked, positions, special=2) == expected


@pytest.mark.parametrize(
    ("limit", "positions", "message"),
    [
        (10**30, None, "neither its model nor its tokenizer says how many tokens it takes"),
        (2, 64, "a maximum length of 2 leaves no room beside 2 special tokens"),
    ],
)
def test_no_limit_or_one_without_room_for_a_word_is_refused(
    limit: int, positions: int | None, message: str
) -> None:
    with pytest.raises(InputError, match=f"^encoder: {message}"):
        longest_sentence(Path("encoder"), limit, positions, special=2)


def test_an_unknown_pooling_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such pooling 'avg'; give cls, mean, max"):
        Layout.read(tmp_path, "avg")
