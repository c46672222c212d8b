"""What is behind POST /v1/components: which objective is asked, and the views of dropout."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from pipeline.objectives import OBJECTIVES
from serve.components import (
    Losses,
    choose_objective,
    dropout_views,
    list_objectives,
    take_apart,
)
from serve.errors import ApiError
from tests.objectives.conftest import make_views
from tests.tiny import corpus

if TYPE_CHECKING:
    from pathlib import Path

    from serve.encoders.registry import ServedEncoder
    from tests.serve.conftest import Tiny

TEXTS = corpus()[:5]
BUDGET = 4096
SIGMOID = {"loss": "pipeline.objectives.sigmoid:sigmoid_loss", "temperature": 0.1, "bias": -10.0}
LOSSES: Losses = {
    "siglip": SIGMOID,
    "siglip_repaired": SIGMOID | {"repair": {"margin": 0.4}},
    "nowhere": {"loss": "no_such_library.losses:Loss"},
}


@pytest.fixture
def copy(encoder: Path, reader: Tiny) -> ServedEncoder:
    """An encoder whose folder a test may change."""
    folder = encoder.parent / "copy"
    shutil.copytree(reader.folder, folder)
    return replace(reader.served, folder=folder)


def trained(encoder: ServedEncoder, **record: Any) -> ServedEncoder:
    (encoder.folder / "triad.json").write_text(json.dumps(record), encoding="utf-8")
    return encoder


class TestChoosing:
    def test_null_is_the_encoders_own_with_its_hyperparameters(self, copy: ServedEncoder) -> None:
        trained(copy, objective="mpt", hyperparameters={"margin": 0.5})
        name, objective = choose_objective(copy, None, None, {})
        assert (name, objective.hyperparameters.model_dump()) == ("mpt", {"margin": 0.5})

    def test_changes_are_made_to_the_record_of_the_own_objective(self, copy: ServedEncoder) -> None:
        record = {"margin": 0.5, "ratio": 1.25, "temperature": 0.1}
        trained(copy, objective="vicreg_modified", hyperparameters=record)
        for name in (None, "vicreg_modified"):
            _, objective = choose_objective(copy, name, {"margin": 1.0}, {})
            assert (
                objective.hyperparameters.model_dump().items() >= (record | {"margin": 1.0}).items()
            )

    def test_another_objective_has_its_defaults(self, copy: ServedEncoder) -> None:
        trained(copy, objective="mpt", hyperparameters={"margin": 0.5})
        _, objective = choose_objective(copy, "mhe_modified", {"ratio": 2}, {})
        assert objective == OBJECTIVES["mhe_modified"](ratio=2)

    @pytest.mark.parametrize("record", [{}, {"objective": None}, []])
    def test_an_encoder_without_a_record_needs_one_named(
        self, copy: ServedEncoder, record: Any
    ) -> None:
        (copy.folder / "triad.json").write_text(json.dumps(record), encoding="utf-8")
        with pytest.raises(ApiError, match="was not trained here, so give one of info_nce, ") as it:
            choose_objective(copy, None, None, {})
        assert (it.value.status, it.value.param) == (400, "objective")
        assert choose_objective(copy, "mpt", None, {})[0] == "mpt"

    @pytest.mark.parametrize(
        ("name", "changes", "message"),
        [
            ("vicregg", {}, "unknown objective 'vicregg'; did you mean 'vicreg'"),
            ("x" * 9999, {}, "unknown objective 'x{100}'; Known: info_nce, "),
            ("mpt", {"margins": 1}, "hyperparameters: mpt has no 'margins'; it has margin"),
            ("mpt", {"margin": 3}, r"hyperparameters: mpt\.margin: 3 is out of range"),
            ("mpt", {"margin": "wide"}, r"mpt\.margin: expected a number, got 'wide'"),
            ("vicreg_modified", {"gate": "open"}, r"\.gate: expected one of 'cross_view', "),
            ("sigmoid", {}, "unknown objective 'sigmoid'; did you mean 'siglip'"),
            ("pipeline.objectives.sigmoid:sigmoid_loss", {}, "unknown objective 'pipeline"),
            ("siglip", {"loss": "os:system"}, "siglip has no 'loss'; it has temperature, bias"),
            ("siglip", {"repair.margin": 0.3}, "siglip has no 'repair.margin'"),
            ("siglip", {"bias": "low"}, r"siglip\.bias: expected a number, got 'low'"),
            ("siglip_repaired", {"repair.margin": 9}, r"repair\.margin: 9 is out of range"),
            ("nowhere", {}, "no_such_library.losses:Loss cannot be imported"),
        ],
    )
    def test_what_there_is_not_is_refused(
        self, reader: Tiny, name: str, changes: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ApiError, match=message) as caught:
            choose_objective(reader.served, name, changes, LOSSES)
        assert caught.value.status == 400
        assert caught.value.message.endswith(".")
        assert len(caught.value.message) < 700


class TestLossesOfOthers:
    def test_a_loss_has_its_values_and_repair_and_the_changes(self, reader: Tiny) -> None:
        changes = {"bias": -5, "repair.margin": 0.2}
        name, objective = choose_objective(reader.served, "siglip_repaired", changes, LOSSES)
        repair = {"margin": 0.2, "ratio": 1.5, "temperature": None}
        assert name == "siglip_repaired"
        assert objective.hyperparameters.model_dump() == SIGMOID | {"bias": -5, "repair": repair}

    def test_an_encoder_trained_with_one_has_its_own_values(self, copy: ServedEncoder) -> None:
        mine = SIGMOID | {"bias": -7.0}
        trained(copy, objective="mine", hyperparameters=mine)
        name, objective = choose_objective(copy, None, None, LOSSES)
        assert (name, objective.hyperparameters.model_dump()) == ("mine", mine | {"repair": None})
        trained(copy, objective="mine", hyperparameters={"loss": "vicreg_centred", "repair": {}})
        assert choose_objective(copy, None, None, {})[0] == "mine"

    def test_a_record_imports_nothing_that_the_service_does_not_name(
        self, copy: ServedEncoder
    ) -> None:
        trained(copy, objective="mine", hyperparameters={"loss": "antigravity:fly"})
        with pytest.raises(ApiError, match=r"trained with antigravity:fly, which serve\.losses"):
            choose_objective(copy, None, None, LOSSES)
        assert "antigravity" not in sys.modules

    def test_ours_and_those_whose_library_is_installed_are_listed(self) -> None:
        data = {one["id"]: one for one in list_objectives(LOSSES)}
        assert set(data) == {*OBJECTIVES, "siglip", "siglip_repaired"}
        assert data["mpt"]["loss"] is None
        assert data["mpt"]["hyperparameters"] == {"margin": 0.23}
        assert data["siglip_repaired"]["loss"] == SIGMOID["loss"]
        assert data["siglip_repaired"]["hyperparameters"] == {
            "temperature": 0.1,
            "bias": -10.0,
            "repair.margin": 0.4,
            "repair.ratio": 1.5,
            "repair.temperature": None,
        }


class TestDropout:
    def rows(self, encoder: ServedEncoder) -> list[list[int]]:
        return encoder.tokenizer.encode(TEXTS)

    def views(self, encoder: ServedEncoder, seed: int = 0) -> np.ndarray:
        views = dropout_views(encoder, self.rows(encoder), seed, BUDGET)
        return np.stack([view.numpy() for view in views])

    def test_the_two_views_differ_and_are_near(self, reader: Tiny) -> None:
        first, second = self.views(reader.served)
        assert first.shape == second.shape == (5, reader.served.description.dimension)
        assert np.abs(first - second).max() > 1e-3
        cosine = np.sum(first * second, axis=1) / np.prod(
            [np.linalg.norm(x, axis=1) for x in (first, second)], axis=0
        )
        assert cosine.min() > 0.5

    def test_a_seed_gives_the_same_views_whatever_else_draws(self, reader: Tiny) -> None:
        before = self.views(reader.served, 7)
        torch.rand(100)
        assert np.array_equal(self.views(reader.served, 7), before)
        assert not np.array_equal(self.views(reader.served, 8), before)

    def test_nobody_elses_random_numbers_change(self, reader: Tiny) -> None:
        state = torch.get_rng_state()
        self.views(reader.served)
        assert torch.equal(torch.get_rng_state(), state)

    @pytest.mark.parametrize("gone", [False, True])
    def test_a_folder_that_is_no_longer_the_served_one_is_not_taken_for_it(
        self, copy: ServedEncoder, *, gone: bool
    ) -> None:
        if gone:
            shutil.rmtree(copy.folder)
        else:
            trained(copy, objective="mpt")
        with pytest.raises(ApiError, match="is no longer what is served") as caught:
            self.views(copy)
        assert (caught.value.status, caught.value.code) == (503, "loading")


class TestTakingApart:
    @pytest.mark.parametrize("name", OBJECTIVES)
    def test_a_step_has_the_length_asked_for(self, name: str) -> None:
        """The moved anchor's angle to the old one is atan(length of its step)."""
        anchor, positive = make_views(seed=2)
        objective = OBJECTIVES[name]()
        gradient = objective.anchor_gradient(anchor, positive)
        length = gradient.norm(dim=1)
        step = 0.1 * length / length[length > 0].mean()
        h = torch.nn.functional.normalize(objective.normalize(anchor), dim=1)
        p = torch.nn.functional.normalize(objective.normalize(positive), dim=1)
        moved = h - step[:, None] * torch.nn.functional.normalize(gradient, dim=1)
        after = torch.cosine_similarity(moved, p)
        told = take_apart(objective, anchor, positive, 0.1)["step"]["positive"]
        np.testing.assert_allclose(told["after"], after, atol=1e-5)
        np.testing.assert_allclose(told["before"], (h * p).sum(dim=1), atol=1e-5)

    @pytest.mark.parametrize("name", OBJECTIVES)
    def test_vectors_without_length_are_no_fault(self, name: str) -> None:
        anchor, positive = make_views()
        anchor[1], positive[2] = 0, 0
        told = take_apart(OBJECTIVES[name](), anchor, positive, 0.1)
        assert all(np.isfinite(told[key]).all() for key in ("cosines", "own_cosines", "weight"))
        assert np.isfinite(told["step"]["positive"]["after"]).all()

    def test_where_no_anchor_is_open_nothing_moves(self) -> None:
        anchor, _ = make_views()
        step = take_apart(OBJECTIVES["mpt"](margin=0.0), anchor, anchor, 1.0)["step"]
        for told in (step["positive"], step["hardest_negative"]):
            np.testing.assert_allclose(told["after"], told["before"], atol=1e-6)
