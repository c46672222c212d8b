"""The registry: which encoders are served, from which folders, in which version."""

from __future__ import annotations

import logging
import shutil
from typing import TYPE_CHECKING

import pytest

from pipeline.encoder.version import folder_version
from serve.encoders.registry import Registry
from serve.metrics import Metrics
from tests.serve.place import (
    Place,
    damage_graph,
    damage_tokenizer,
    lose_export,
    lose_tokenizer,
    reloads,
    versions,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_every_objective_and_seed_is_served_by_its_version(place: Place) -> None:
    folders = {f"{a}-{b}": place.add(f"{a}/{b}") for a in ("info_nce", "vicreg") for b in (1, 42)}
    registry = place.registry()
    registry.refresh()
    assert versions(registry) == {name: folder_version(path) for name, path in folders.items()}
    assert not registry.refused
    one = registry.encoders["vicreg-42"]
    assert (one.id, one.folder, one.dimension) == ("vicreg-42", folders["vicreg-42"], 32)
    assert one.created == int(folders["vicreg-42"].stat().st_mtime)


def test_further_encoders_are_served_by_the_names_they_are_given(place: Place) -> None:
    place.add("info_nce/1")
    further = shutil.move(place.add("elsewhere/encoder"), place.models.parent / "further")
    registry = place.registry({"mini": str(further)})
    registry.refresh()
    assert list(registry.encoders) == ["info_nce-1", "mini"]


def test_without_a_folder_of_models_there_are_the_further_ones(place: Place) -> None:
    folder = place.add("info_nce/1")
    params = place.params.model_copy(update={"models": None, "encoders": {"mini": str(folder)}})
    registry = Registry(params, 1, Metrics())
    registry.refresh()
    assert list(registry.encoders) == ["mini"]


@pytest.mark.parametrize(
    "name", [".hidden/1", "info_nce/.1.unfinished", "info_nce/.1.replaced", "deeper/info_nce/1"]
)
def test_hidden_and_unfinished_folders_are_not_encoders(place: Place, name: str) -> None:
    place.add(name)
    registry = place.registry()
    registry.refresh()
    assert (registry.encoders, registry.refused) == ({}, {})


def test_a_folder_without_modules_is_no_encoder(place: Place) -> None:
    (place.add("info_nce/1") / "modules.json").unlink()
    registry = place.registry()
    registry.refresh()
    assert (registry.encoders, registry.refused) == ({}, {})


def test_no_folder_at_all_is_no_fault(place: Place) -> None:
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
        (damage_tokenizer, r"its tokenizer\.json does not give the golden token ids"),
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
