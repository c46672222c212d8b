"""What surrounds the transformer: both spellings are read, what Triad lacks is refused by name."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from pipeline.encoder.folder import Layout, Pooling, longest_sentence
from pipeline.machine.errors import InputError

KINDS = ["Transformer", "Pooling"]


def write(folder: Path, kinds: list[str], pooling: object, prefix: str = "models") -> Path:
    modules = [
        {
            "idx": place,
            "path": f"{place}_{kind}" if place else "",
            "type": f"sentence_transformers.{prefix}.{kind}",
        }
        for place, kind in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
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


@pytest.mark.parametrize(
    ("settings", "named"), [({"pooling_mode": ["cls", "median"]}, r"cls \+ median"), ({}, "none")]
)
def test_another_pooling_is_refused_by_name(
    tmp_path: Path, settings: dict[str, Any], named: str
) -> None:
    with pytest.raises(InputError, match=f"cannot use pooling {named}; Triad reads cls, max, mean"):
        Layout.read(write(tmp_path, KINDS, settings), "cls")


@pytest.mark.parametrize("prefix", ["models", "base.modules.some_file"])
def test_modules_are_known_by_their_last_name(tmp_path: Path, prefix: str) -> None:
    folder = write(tmp_path, [*KINDS, "Normalize"], {"pooling_mode": "mean"}, prefix)
    assert Layout.read(folder, "cls") == Layout("mean", normalize=True)


@pytest.mark.parametrize(
    "kinds",
    [
        ["Transformer"],
        [*KINDS, "CNN"],
        [*KINDS, "Normalize", "Dense"],
        ["WordEmbeddings", "Pooling"],
        ["Pooling"],
        [],
    ],
)
def test_other_modules_are_refused_by_name(tmp_path: Path, kinds: list[str]) -> None:
    named = ", ".join(kinds) or "none"
    with pytest.raises(InputError, match=f"cannot use modules {named}; Triad reads"):
        Layout.read(write(tmp_path, kinds, {"pooling_mode": "cls"}), "cls")


def test_a_folder_without_modules_takes_the_pooling_that_is_asked_for(tmp_path: Path) -> None:
    assert Layout.read(tmp_path, "max") == Layout("max")
    assert Layout.read(tmp_path / "not-there", "mean") == Layout("mean")


def test_a_folder_with_modules_decides_itself(tmp_path: Path) -> None:
    assert Layout.read(write(tmp_path, KINDS, {"pooling_mode": "cls"}), "mean").pooling == "cls"


def test_what_is_around_the_pooling_is_read(tmp_path: Path) -> None:
    kinds = [*KINDS, "Dense", "Dropout", "Dense", "Normalize"]
    folder = write(tmp_path, kinds, {"pooling_mode": "cls"})
    path = folder / "config_sentence_transformers.json"
    path.write_text(
        '{"prompts": {"q": "query: ", "p": null}, "default_prompt_name": "q", "truncate_dim": 8}',
        encoding="utf-8",
    )
    layout = Layout.read(folder, "mean")
    assert layout.dense == ("2_Dense", "4_Dense")
    assert layout.normalize
    assert (layout.prompts, layout.default_prompt) == ({"q": "query: ", "p": ""}, "q")
    assert (layout.prompt(), layout.truncate_dim) == ("query: ", 8)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"default_prompt_name": "q"}', r"no prompt 'q' \(default_prompt_name\); there are: none"),
        ('{"prompts": {"q": 1}}', "prompts must be texts by their names, got {'q': 1}"),
        ('{"prompts": "q"}', "prompts must be texts by their names, got 'q'"),
        ('{"truncate_dim": 0}', "truncate_dim must be a whole number above 0 or null, got 0"),
    ],
)
def test_wrong_settings_of_sentence_transformers_are_refused(
    tmp_path: Path, content: str, message: str
) -> None:
    folder = write(tmp_path, KINDS, {"pooling_mode": "cls"})
    (folder / "config_sentence_transformers.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=rf"config_sentence_transformers\.json: .*{message}"):
        Layout.read(folder, "cls")


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


@pytest.mark.parametrize("name", ["modules.json", "1_Pooling/config.json"])
@pytest.mark.parametrize("content", [b"\xff\xfe", b"3"])
def test_a_damaged_file_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    write(tmp_path, KINDS, {"pooling_mode": "cls"})
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=rf"{name}: (not readable as JSON|expected a JSON)"):
        Layout.read(tmp_path, "cls")


@pytest.mark.parametrize(
    "module", [1, {"idx": 0}, {"type": "Pooling"}, {"type": None, "path": ""}, {"path": 3}]
)
def test_a_module_without_type_and_path_is_shown(tmp_path: Path, module: object) -> None:
    (tmp_path / "modules.json").write_text(json.dumps([module]), encoding="utf-8")
    with pytest.raises(InputError, match=r"modules\.json: .* is no module with a type and a path"):
        Layout.read(tmp_path, "cls")


@pytest.mark.parametrize("length", ["x", 0, 2.5, True])
def test_a_maximum_length_that_is_no_length_is_refused(tmp_path: Path, length: object) -> None:
    write(tmp_path, KINDS, {"pooling_mode": "cls"})
    text = json.dumps({"max_seq_length": length})
    (tmp_path / "sentence_bert_config.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="max_seq_length must be a whole number above 0 or null"):
        Layout.read(tmp_path, "cls")


@pytest.mark.parametrize(
    ("asked", "positions", "expected"),
    [(64, 64, 64), (9999, 64, 64), (32, 64, 32), (10**30, 64, 64), (64, None, 64)],
)
def test_a_sentence_has_no_more_tokens_than_asked_for_and_than_positions(
    asked: int, positions: int | None, expected: int
) -> None:
    assert longest_sentence(Path("encoder"), asked, positions, special=2) == expected


def test_no_limit_at_all_is_refused() -> None:
    with pytest.raises(InputError, match=r"^encoder: neither its model nor its tokenizer says"):
        longest_sentence(Path("encoder"), 10**30, None, special=2)


def test_a_length_without_room_for_a_word_is_refused() -> None:
    with pytest.raises(InputError, match="length of 2 leaves no room beside 2 special tokens"):
        longest_sentence(Path("encoder"), 2, 64, special=2)


@pytest.mark.parametrize("modules", [True, False])
def test_an_unknown_pooling_is_refused(tmp_path: Path, modules: bool) -> None:
    if modules:
        write(tmp_path, KINDS, {"pooling_mode": "cls"})
    with pytest.raises(InputError, match="no such pooling 'avg'; give cls, mean, max"):
        Layout.read(tmp_path, "avg")
