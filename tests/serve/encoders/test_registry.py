"""The registry: which encoders are served, from which folders, in which version, and until when."""

from __future__ import annotations

import logging
import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.encoder.version import folder_version
from serve.encoders import cards
from serve.encoders.registry import Registry
from serve.metrics import Metrics
from tests.serve.served import PARAMS
from tests.tiny import change_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tests.serve.conftest import Tiny


class Place:
    """A folder of encoders and one of exports, as training and `serve.encoders.export` leave them.

    Exports are copies: the registry has no reason to make any.
    """

    def __init__(self, root: Path, tiny: Tiny) -> None:
        self.root, self.models, self.exports = root, root / "models", root / "exports"
        self.tiny = tiny
        self.reasons: dict[Path, str] = {}
        self.metrics = Metrics()

    def add(self, name: str | Path) -> Path:
        """An encoder, exported; `name` is its place below `models`."""
        folder = self.models / name
        shutil.copytree(self.tiny.folder, folder)
        self.change(folder, str(name))
        return folder

    def change(self, folder: Path, text: str) -> str:
        """Another version of an encoder, exported."""
        (folder / "README.md").write_text(text, encoding="utf-8")
        version = folder_version(folder)
        shutil.copytree(self.tiny.exported.folder, self.exports / version, dirs_exist_ok=True)
        return version

    def registry(self, encoders: Mapping[str, str] | None = None) -> Registry:
        """One that has looked once."""
        changes = {
            "models": str(self.models),
            "exported": str(self.exports),
            "backend": "onnxruntime-f32",
            "encoders": encoders or {},
        }
        registry = Registry(PARAMS.model_copy(update=changes), 1, self.metrics)
        registry.refresh()
        return registry

    def sample(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0

    def reloads(self, result: str) -> float:
        return self.sample("triad_reloads_total", result=result)


def versions(registry: Registry) -> dict[str, str]:
    return {name: one.version for name, one in registry.encoders.items()}


@pytest.fixture
def place(tmp_path: Path, bert: Tiny, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place(tmp_path, bert)

    def exported(encoders: Mapping[str, Path], *_: object) -> Iterator[tuple[str, str]]:
        return ((name, made.reasons.get(folder, "")) for name, folder in encoders.items())

    monkeypatch.setattr("serve.encoders.registry.export_missing", exported)
    return made


def test_every_objective_and_seed_is_served_by_its_version_and_loaded_once(place: Place) -> None:
    folders = {f"{a}-{b}": place.add(f"{a}/{b}") for a in ("info_nce", "vicreg") for b in (1, 42)}
    registry = place.registry()
    assert versions(registry) == {name: folder_version(path) for name, path in folders.items()}
    assert not registry.refused
    one = registry.encoders["vicreg-42"]
    assert (one.id, one.folder, one.description.dimension) == (
        "vicreg-42",
        folders["vicreg-42"],
        32,
    )
    assert one.created == int(folders["vicreg-42"].stat().st_mtime)
    registry.refresh()
    assert registry.encoders["vicreg-42"] is one
    assert place.reloads("loaded") == 4


@pytest.mark.parametrize("trained", [["info_nce-1"], []])
def test_further_encoders_are_served_by_their_names_whether_any_is_trained_or_not(
    place: Place, trained: list[str]
) -> None:
    further = place.add(place.root / "further")
    for name in trained:
        place.add(name.replace("-", "/"))
    registry = place.registry({"mini": str(further)})
    assert (list(registry.encoders), registry.refused) == ([*trained, "mini"], {})


def test_a_folder_without_modules_is_served_and_how_it_is_pooled_is_said_once(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    folder = place.add(place.root / "further")
    (folder / "modules.json").unlink()
    place.change(folder, "no modules")
    with caplog.at_level(logging.WARNING, "serve.encoders.registry"):
        registry = place.registry({"plain": str(folder)})
        registry.refresh()
    assert list(registry.encoders) == ["plain"]
    (said,) = (text for text in caplog.messages if text.startswith("encoder plain: "))
    assert "has no modules.json, so its token states are pooled by mean" in said


@pytest.mark.parametrize(
    "name", [".hidden/1", "info_nce/.1.unfinished", "info_nce/.1.replaced", "deeper/info_nce/1"]
)
def test_hidden_and_unfinished_folders_are_not_encoders(place: Place, name: str) -> None:
    place.add(name)
    registry = place.registry()
    assert (registry.encoders, registry.refused) == ({}, {})


def test_an_encoder_that_is_named_and_not_there_is_refused_by_its_path(place: Place) -> None:
    nowhere = place.models / "nowhere"
    registry = place.registry({"mini": str(nowhere)})
    assert registry.refused == {"mini": f"{nowhere}: there is no such folder, or nothing in it."}
    registry.refresh()
    assert place.reloads("refused") == 1


def damage_graph(place: Place, folder: Path) -> None:
    (place.exports / folder_version(folder) / "graph.onnx").write_bytes(b"no graph")


def damage_tokenizer(place: Place, folder: Path) -> None:
    change_json(place.exports / folder_version(folder) / "tokenizer.json", normalizer=None)


def lose_tokenizer(place: Place, folder: Path) -> None:
    (place.exports / folder_version(folder) / "tokenizer.json").unlink()


def lose_export(place: Place, folder: Path) -> None:
    shutil.rmtree(place.exports / folder_version(folder))


def fail_export(place: Place, folder: Path) -> None:
    lose_export(place, folder)
    place.reasons = {folder: "no model that can be loaded."}


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (damage_graph, "no backend gives this encoder's embeddings"),
        (damage_tokenizer, "its tokenizer.json does not give the reference token ids"),
        (lose_tokenizer, "No such file"),
        (lose_export, "holds no usable export"),
        (fail_export, "no model that can be loaded."),
    ],
)
def test_a_damaged_encoder_is_refused_with_the_reason_and_the_others_are_served(
    place: Place,
    damage: Callable[[Place, Path], None],
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    place.add("good/1")
    damage(place, place.add("bad/1"))
    place.add("other/1")
    with caplog.at_level(logging.WARNING, "serve.encoders.registry"):
        registry = place.registry()
    assert list(registry.encoders) == ["good-1", "other-1"]
    assert list(registry.refused) == ["bad-1"]
    assert reason in registry.refused["bad-1"]
    assert registry.refused["bad-1"] in caplog.text
    assert (place.reloads("loaded"), place.reloads("refused")) == (2, 1)


def test_a_changed_encoder_takes_the_place_of_the_old_which_still_works(place: Place) -> None:
    folder = place.add("info_nce/1")
    registry = place.registry()
    all_before, old = registry.encoders, registry.encoders["info_nce-1"]
    version = place.change(folder, "changed")
    registry.refresh()
    assert versions(registry) == {"info_nce-1": version}
    assert all_before == {"info_nce-1": old}  # replaced as a whole, never changed
    ids = np.full((1, 4), 7, np.int64)
    assert old.backend.embed(ids, np.ones_like(ids)).shape == (1, 32)
    labels = {"model": "info_nce-1", "backend": "onnxruntime-f32"}
    assert place.sample("triad_encoder_info", version=version, **labels) == 1
    assert place.sample("triad_encoder_info", version=old.version, **labels) == 0
    assert place.reloads("loaded") == 2


def test_a_broken_new_version_is_refused_once_and_the_old_stays_until_it_changes_again(
    place: Place,
) -> None:
    folder = place.add("info_nce/1")
    registry = place.registry()
    before = versions(registry)
    place.change(folder, "broken")
    damage_graph(place, folder)
    for _ in range(3):
        registry.refresh()
    assert (versions(registry), list(registry.refused)) == (before, ["info_nce-1"])
    assert place.reloads("refused") == 1
    version = place.change(folder, "whole again")
    registry.refresh()
    assert (versions(registry), registry.refused) == ({"info_nce-1": version}, {})


@pytest.mark.parametrize("written", [b'{"seed": 1}', b"", b"{", b"[]", b"\xff", None])
def test_a_record_belongs_to_the_version_that_is_loaded(
    place: Place, written: bytes | None
) -> None:
    """Also after its folder holds another version, which is refused."""
    folder = place.add("info_nce/1")
    if written is not None:
        (folder / "triad.json").write_bytes(written)
    place.change(folder, "trained")
    registry = place.registry()
    (folder / "triad.json").write_text('{"seed": 2}', encoding="utf-8")
    registry.refresh()
    assert list(registry.refused) == ["info_nce-1"]  # it was not exported
    card = cards.card(registry.encoders["info_nce-1"], place.root)
    assert card["seed"] == (1 if written == b'{"seed": 1}' else None)


def test_one_that_was_not_exported_is_served_when_its_export_is_brought(place: Place) -> None:
    folder = place.add("info_nce/1")
    lose_export(place, folder)
    registry = place.registry()
    for _ in range(3):
        registry.refresh()
    assert place.reloads("refused") == 1
    version = place.change(folder, "info_nce/1")
    registry.refresh()
    assert (versions(registry), registry.refused) == ({"info_nce-1": version}, {})


def test_why_one_was_refused_is_forgotten_when_it_is_gone(place: Place) -> None:
    folder = place.add("info_nce/1")
    lose_export(place, folder)
    registry = place.registry()
    assert list(registry.refused) == ["info_nce-1"]
    shutil.rmtree(folder)
    registry.refresh()
    assert not registry.refused


def test_when_it_is_what_it_was_the_refusal_is_forgotten(place: Place) -> None:
    folder = place.add("info_nce/1")
    registry = place.registry()
    before = dict(registry.encoders)
    (folder / "README.md").write_text("not exported", encoding="utf-8")
    registry.refresh()
    assert list(registry.refused) == ["info_nce-1"]
    place.change(folder, "info_nce/1")
    registry.refresh()
    assert (registry.encoders, registry.refused) == (before, {})


@pytest.mark.parametrize("further", [False, True])
def test_an_encoder_whose_folder_is_gone_is_served_on(place: Place, further: bool) -> None:
    folder = place.add("info_nce/1")
    registry = place.registry({"mini": str(folder)} if further else {})
    before = dict(registry.encoders)
    shutil.rmtree(place.models)
    registry.refresh()
    assert registry.encoders == before
