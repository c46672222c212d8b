"""Changes of encoders' folders while they are served."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

from tests.serve.place import (
    Place,
    damage_graph,
    lose_export,
    reloads,
    sample,
    versions,
)


def test_an_unchanged_encoder_is_not_loaded_again(place: Place) -> None:
    place.add("info_nce/1")
    registry = place.registry()
    registry.refresh()
    before = dict(registry.encoders)
    registry.refresh()
    assert registry.encoders == before
    assert reloads(registry, "loaded") == 1


def test_nor_one_whose_files_are_only_newer(place: Place) -> None:
    folder = place.add("info_nce/1")
    registry = place.registry()
    registry.refresh()
    before = dict(registry.encoders)
    os.utime(folder / "config.json", ns=(1, 1))
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


def test_a_new_encoder_is_served_besides(place: Place) -> None:
    place.add("info_nce/1")
    registry = place.registry()
    registry.refresh()
    before = registry.encoders["info_nce-1"]
    place.add("info_nce/2")
    registry.refresh()
    assert list(registry.encoders) == ["info_nce-1", "info_nce-2"]
    assert registry.encoders["info_nce-1"] is before


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
