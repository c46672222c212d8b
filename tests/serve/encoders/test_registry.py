"""The registry: which encoders are served, from which folders, in which version, and until when."""

from __future__ import annotations

import logging
import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.encoder.version import folder_version
from serve.encoders.registry import Registry
from serve.metrics import Metrics
from tests.serve.served import PARAMS
from tests.tiny import change_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from serve.settings import ServeParams
    from tests.serve.conftest import Tiny


class Place:
    """A folder of encoders and one of exports, as training and `serve.encoders.export` leave them.

    Exports are copies: the registry has no reason to make any.
    """

    def __init__(self, root: Path, tiny: Tiny) -> None:
        self.models, self.exports = root / "models", root / "exports"
        self.tiny = tiny
        self.reasons: dict[Path, str] = {}

    @property
    def params(self) -> ServeParams:
        return PARAMS.model_copy(
            update={
                "models": str(self.models),
                "exported": str(self.exports),
                "backend": "onnxruntime-f32",
            }
        )

    def add(self, name: str) -> Path:
        folder = self.models / name
        shutil.copytree(self.tiny.folder, folder)
        self.change(folder, name)
        return folder

    def change(self, folder: Path, text: str) -> str:
        """Another version of an encoder, exported."""
        (folder / "README.md").write_text(text, encoding="utf-8")
        version = folder_version(folder)
        shutil.copytree(self.tiny.exported.folder, self.exports / version, dirs_exist_ok=True)
        return version

    def registry(self, encoders: Mapping[str, str] | None = None) -> Registry:
        return Registry(self.params.model_copy(update={"encoders": encoders or {}}), 1, Metrics())


def sample(registry: Registry, name: str, **labels: str) -> float:
    return registry._metrics.registry.get_sample_value(name, labels) or 0


def reloads(registry: Registry, result: str) -> float:
    return sample(registry, "triad_reloads_total", result=result)


def versions(registry: Registry) -> dict[str, str]:
    return {name: one.version for name, one in registry.encoders.items()}


def damage_graph(place: Place, folder: Path) -> None:
    (place.exports / folder_version(folder) / "graph.onnx").write_bytes(b"no graph")


def damage_tokenizer(place: Place, folder: Path) -> None:
    change_json(place.exports / folder_version(folder) / "tokenizer.json", normalizer=None)


def lose_tokenizer(place: Place, folder: Path) -> None:
    (place.exports / folder_version(folder) / "tokenizer.json").unlink()


def lose_export(place: Place, folder: Path) -> None:
    shutil.rmtree(place.exports / folder_version(folder))


@pytest.fixture
def place(tmp_path: Path, bert: Tiny, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place(tmp_path, bert)

    def exported(encoders: Mapping[str, Path], *_: object) -> Iterator[tuple[str, str]]:
        return ((name, made.reasons.get(folder, "")) for name, folder in encoders.items())

    monkeypatch.setattr("serve.encoders.registry.export_missing", exported)
    return made


def test_every_objective_and_seed_is_served_by_its_version(place: Place) -> None:
    folders = {f"{a}-{b}": place.add(f"{a}/{b}") for a in ("info_nce", "vicreg") for b in (1, 42)}
    registry = place.registry()
    registry.refresh()
    assert versions(registry) == {name: folder_version(path) for name, path in folders.items()}
    assert not registry.refused
    one = registry.encoders["vicreg-42"]
    assert (one.id, one.folder, one.description.dimension) == ("vicreg-42", folders["vicreg-42"], 32)
    assert one.created == int(folders["vicreg-42"].stat().st_mtime)


def test_further_encoders_are_served_by_the_names_they_are_given(place: Place) -> None:
    place.add("info_nce/1")
    further = shutil.move(place.add("elsewhere/encoder"), place.models.parent / "further")
    registry = place.registry({"mini": str(further)})
    registry.refresh()
    assert list(registry.encoders) == ["info_nce-1", "mini"]




def test_before_anything_is_trained_there_are_the_further_ones(place: Place) -> None:
    further = shutil.move(place.add("elsewhere/encoder"), place.models.parent / "further")
    shutil.rmtree(place.models)
    registry = place.registry({"vicreg-reference": str(further)})
    registry.refresh()
    assert list(registry.encoders) == ["vicreg-reference"]
    assert not registry.refused


@pytest.mark.parametrize(
    "name", [".hidden/1", "info_nce/.1.unfinished", "info_nce/.1.replaced", "deeper/info_nce/1"]
)
def test_hidden_and_unfinished_folders_are_not_encoders(place: Place, name: str) -> None:
    place.add(name)
    registry = place.registry()
    registry.refresh()
    assert (registry.encoders, registry.refused) == ({}, {})


def test_an_encoder_that_is_named_and_not_there_is_refused_by_its_path(place: Place) -> None:
    nowhere = place.models / "nowhere"
    registry = place.registry({"mini": str(nowhere)})
    registry.refresh()
    assert registry.refused == {"mini": f"{nowhere}: there is no such folder, or nothing in it."}
    registry.refresh()
    assert reloads(registry, "refused") == 1


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (damage_graph, "no backend gives this encoder's embeddings"),
        (damage_tokenizer, r"its tokenizer\.json does not give the reference token ids"),
        (lose_tokenizer, r"No such file"),
        (lose_export, "holds no usable export"),
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
    registry = place.registry()
    with caplog.at_level(logging.WARNING, "serve.encoders.registry"):
        registry.refresh()
    assert list(registry.encoders) == ["good-1", "other-1"]
    assert list(registry.refused) == ["bad-1"]
    assert registry.refused["bad-1"] in caplog.text
    with pytest.raises(ValueError, match=reason):
        raise ValueError(registry.refused["bad-1"])
    assert (reloads(registry, "loaded"), reloads(registry, "refused")) == (2, 1)


def test_why_an_export_failed_is_the_reason(place: Place) -> None:
    folder = place.add("bad/1")
    lose_export(place, folder)
    place.reasons = {folder: "no model that can be loaded."}
    registry = place.registry()
    registry.refresh()
    assert registry.refused == {"bad-1": "no model that can be loaded."}


def test_a_folder_that_cannot_be_read_does_not_hold_up_the_others(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = place.add("bad/1")
    place.add("good/1")

    def unreadable(folder: Path) -> str:
        if folder == bad:
            raise PermissionError(f"[Errno 13] Permission denied: '{folder}'")
        return folder_version(folder)

    monkeypatch.setattr("serve.encoders.registry.folder_version", unreadable)
    registry = place.registry()
    registry.refresh()
    assert list(registry.encoders) == ["good-1"]
    assert "Permission denied" in registry.refused["bad-1"]


def test_an_unchanged_encoder_is_not_loaded_again(place: Place) -> None:
    place.add("info_nce/1")
    registry = place.registry()
    registry.refresh()
    before = dict(registry.encoders)
    registry.refresh()
    assert registry.encoders == before
    assert reloads(registry, "loaded") == 1


def test_a_changed_encoder_takes_the_place_of_the_old_which_still_works(place: Place) -> None:
    folder = place.add("info_nce/1")
    registry = place.registry()
    registry.refresh()
    all_before, old = registry.encoders, registry.encoders["info_nce-1"]
    version = place.change(folder, "changed")
    registry.refresh()
    assert versions(registry) == {"info_nce-1": version}
    assert all_before == {"info_nce-1": old}  # replaced as a whole, never changed
    ids = np.full((1, 4), 7, np.int64)
    assert old.backend.embed(ids, np.ones_like(ids)).shape == (1, 32)
    labels = {"model": "info_nce-1", "backend": "onnxruntime-f32"}
    assert sample(registry, "triad_encoder_info", version=version, **labels) == 1
    assert sample(registry, "triad_encoder_info", version=old.version, **labels) == 0
    assert reloads(registry, "loaded") == 2


def test_a_broken_new_version_is_refused_once_and_the_old_stays(place: Place) -> None:
    folder = place.add("info_nce/1")
    registry = place.registry()
    registry.refresh()
    old = registry.encoders["info_nce-1"]
    place.change(folder, "changed")
    damage_graph(place, folder)
    for _ in range(3):
        registry.refresh()
    assert registry.encoders == {"info_nce-1": old}
    assert list(registry.refused) == ["info_nce-1"]
    assert reloads(registry, "refused") == 1


def test_it_is_tried_again_when_it_changes_again(place: Place) -> None:
    folder = place.add("info_nce/1")
    registry = place.registry()
    registry.refresh()
    place.change(folder, "broken")
    damage_graph(place, folder)
    registry.refresh()
    version = place.change(folder, "whole again")
    registry.refresh()
    assert versions(registry) == {"info_nce-1": version}
    assert not registry.refused


def test_one_that_was_not_exported_is_served_when_its_export_is_brought(place: Place) -> None:
    folder = place.add("info_nce/1")
    lose_export(place, folder)
    registry = place.registry()
    for _ in range(3):
        registry.refresh()
    assert reloads(registry, "refused") == 1
    version = place.change(folder, "info_nce/1")
    registry.refresh()
    assert versions(registry) == {"info_nce-1": version}
    assert not registry.refused


def test_why_one_was_refused_is_forgotten_when_it_is_gone(place: Place) -> None:
    folder = place.add("info_nce/1")
    lose_export(place, folder)
    registry = place.registry()
    registry.refresh()
    assert list(registry.refused) == ["info_nce-1"]
    shutil.rmtree(folder)
    registry.refresh()
    assert not registry.refused


def test_when_it_is_what_it_was_the_refusal_is_forgotten(place: Place) -> None:
    folder = place.add("info_nce/1")
    registry = place.registry()
    registry.refresh()
    old = registry.encoders["info_nce-1"]
    lose_export(place, folder)
    (folder / "README.md").write_text("not exported", encoding="utf-8")
    registry.refresh()
    assert list(registry.refused) == ["info_nce-1"]
    place.change(folder, "info_nce/1")
    registry.refresh()
    assert (registry.encoders, registry.refused) == ({"info_nce-1": old}, {})


@pytest.mark.parametrize("further", [False, True])
def test_an_encoder_whose_folder_is_gone_is_served_on(place: Place, further: bool) -> None:
    folder = place.add("info_nce/1")
    registry = place.registry({"mini": str(folder)} if further else {})
    registry.refresh()
    before = dict(registry.encoders)
    shutil.rmtree(place.models)
    registry.refresh()
    assert registry.encoders == before
