"""Measurements on views whose cosines are known, and on random ones computed a second time."""

import json
import math
from typing import Any

import numpy as np
import pytest
import torch

from pipeline.objectives.views import Views, l2_normalize
from pipeline.paper.held_out.measurements import COSINES, SUBSAMPLE, measure
from pipeline.paper.held_out.schema import Settings

TOLERANCE = 1e-6  # numbers are rounded to six digits
MARGIN, TEMPERATURES, STEPS = 0.3, (0.05, 0.3), (0.1, 0.5, 2.0)


def settings(**changes: Any) -> Settings:
    usual: dict[str, Any] = {
        "margin": MARGIN,
        "temperatures": TEMPERATURES,
        "steps": STEPS,
        "seed": 1,
    }
    return Settings(**(usual | changes))


def random_views(seed: int, count: int = 6, width: int = 4, noise: float = 0.4) -> Views:
    generator = torch.Generator().manual_seed(seed)

    def normal() -> torch.Tensor:
        return torch.randn(count, width, generator=generator, dtype=torch.float64)

    anchor = normal()
    return Views(l2_normalize(anchor), l2_normalize(anchor + noise * normal()))


def views(anchors: list[list[float]], positives: list[list[float]]) -> Views:
    tensors = (torch.tensor(rows, dtype=torch.float64) for rows in (anchors, positives))
    return Views(*(l2_normalize(tensor) for tensor in tensors))


def of_step(measured: dict[str, Any], step: float) -> dict[str, Any]:
    rows = measured["minimum_ratio"]["by_step"]
    return next(row for row in rows if row["step"] == step)


def of_temperature(measured: dict[str, Any], temperature: float) -> dict[str, Any]:
    rows = measured["hardest_share"]["by_temperature"]
    return next(row for row in rows if row["temperature"] == temperature)


BATCHES = (random_views(1), random_views(2), random_views(3))


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    return measure(BATCHES, settings())


class TestAgainstALoopOverAnchors:
    def cosines(self) -> list[np.ndarray]:
        return [batch.anchor.numpy() @ batch.positive.numpy().T for batch in BATCHES]

    def test_cosines(self, measured: dict[str, Any]) -> None:
        positive = [np.mean([c[i, i] for i in range(6)]) for c in self.cosines()]
        negative = [
            np.mean([c[i, j] for i in range(6) for j in range(6) if i != j]) for c in self.cosines()
        ]
        for key, means in (("positive", positive), ("negative", negative)):
            found = measured["cosines"][key]
            assert found["mean"] == pytest.approx(np.mean(means), abs=TOLERANCE)
            deviation = np.std(means, ddof=1)
            assert found["deviation_over_batches"] == pytest.approx(deviation, abs=TOLERANCE)

    def test_angles(self, measured: dict[str, Any]) -> None:
        positive = np.concatenate([np.arccos(np.diag(c)) for c in self.cosines()])
        found = measured["angles"]["positive"]
        assert found["mean"] == pytest.approx(positive.mean(), abs=TOLERANCE)
        assert found["deviation"] == pytest.approx(positive.std(), abs=TOLERANCE)

    @pytest.mark.parametrize("temperature", TEMPERATURES)
    @pytest.mark.parametrize("anchors", ["open", "all"])
    def test_shares(self, measured: dict[str, Any], temperature: float, anchors: str) -> None:
        weights: list[float] = []
        pushes: list[float] = []
        gradients: list[float] = []
        for batch, c in zip(BATCHES, self.cosines(), strict=True):
            h, p = batch.anchor.numpy(), batch.positive.numpy()
            for i in range(6):
                others = [j for j in range(6) if j != i]
                hardest = max(others, key=lambda j: c[i, j])
                if anchors == "open" and c[i, i] - c[i, hardest] >= MARGIN:
                    continue
                e = {j: math.exp(c[i, j] / temperature) for j in others}
                w = {j: e[j] / sum(e.values()) for j in others}
                weights.append(max(w.values()))
                for shares, ratio in ((pushes, 0), (gradients, 1)):
                    v = {j: w[j] * (p[j] - ratio * p[i]) for j in others}
                    v = {j: v[j] - (v[j] @ h[i]) * h[i] for j in others}
                    whole = sum(v.values())
                    shares.append(v[hardest] @ whole / (whole @ whole))
        found = of_temperature(measured, temperature)[anchors]
        assert found["weight_share"] == pytest.approx(np.mean(weights), abs=TOLERANCE)
        assert found["push_share"] == pytest.approx(np.mean(pushes), abs=TOLERANCE)
        assert found["gradient_share"] == pytest.approx(np.mean(gradients), abs=TOLERANCE)

    def test_anchors_are_counted(self, measured: dict[str, Any]) -> None:
        opened = 0
        for c in self.cosines():
            for i in range(6):
                opened += c[i, i] - max(c[i, j] for j in range(6) if j != i) < MARGIN
        found = measured["hardest_share"]
        assert 0 < opened < 18
        assert (found["anchors"], found["open"], found["uniform"]) == (18, opened, 0.2)
        assert found["open_share"] == pytest.approx(opened / 18, abs=TOLERANCE)
        assert measured["minimum_ratio"]["anchors"] == opened


class TestMinimumRatio:
    """Anchor e3, positive at 0.3, negative at 0.5 radians, directions 60 degrees apart."""

    BATCH = views(
        [[0, 0, 1], [0, 1, 0]],
        [
            [math.sin(0.3), 0, math.cos(0.3)],
            [
                math.sin(0.5) * math.cos(math.pi / 3),
                math.sin(0.5) * math.sin(math.pi / 3),
                math.cos(0.5),
            ],
        ],
    )

    def test_the_ratio_by_hand(self) -> None:
        """Step .5: q = sin .5 / sin .3 = 1.622311, 2 + .5 q - sqrt(4 - .75 q^2) = 1.387750. The
        anchor's lead is cos .3 - cos .5 = .078, the other anchor's .415.
        """
        found = measure([self.BATCH], settings(margin=0.2, steps=(0.5,)))
        assert found["minimum_ratio"]["anchors"] == 1
        ratio = of_step(found, 0.5)
        assert set(ratio["quantiles"].values()) == {1.38775}
        assert (ratio["share_above_one"], ratio["share_undefined"]) == (1, 0)
        assert ratio["share_one_serves"] == 0

    def test_a_step_that_no_ratio_serves_is_counted_apart(self) -> None:
        """Step 2: 1/4 - .75 q^2 is below zero."""
        found = of_step(measure([self.BATCH], settings(margin=0.2)), 2.0)
        assert (found["share_undefined"], found["share_above_one"]) == (1, 0)
        assert found["quantiles"] is found["density"] is None


class TestWhatIsUndefined:
    def test_one_batch_has_no_deviation_over_batches(self) -> None:
        found = measure([random_views(1)], settings())
        assert found["cosines"]["gap"]["deviation_over_batches"] is None

    def test_without_an_open_anchor_there_are_no_shares_and_no_ratios(self) -> None:
        none_open = measure([random_views(1, noise=0.01)], settings(margin=0))
        assert none_open["hardest_share"]["open"] == 0
        shares = of_temperature(none_open, 0.05)
        assert set(shares["open"].values()) == {None}
        assert None not in shares["all"].values()
        ratios = of_step(none_open, 0.1)
        assert {value for key, value in ratios.items() if key != "step"} == {None}

    def test_collapsed_embeddings_are_measured_too(self) -> None:
        equal = [[1.0, 2.0, 2.0]] * 4
        found = measure([views(equal, equal)], settings())
        json.dumps(found, allow_nan=False)
        assert found["cosines"]["gap"]["mean"] == 0
        assert of_step(found, 0.1)["share_undefined"] == 1
        assert of_temperature(found, 0.05)["all"]["weight_share"] == pytest.approx(1 / 3, abs=1e-6)


def test_many_negatives_are_subsampled_by_the_seed() -> None:
    """150 * 149 = 22,350 negatives."""
    batch = random_views(1, count=150)
    first, again, other = (measure([batch], settings(seed=seed)) for seed in (1, 1, 2))
    assert first["cosines"]["density_pairs"] == {"positive": 150, "negative": SUBSAMPLE}
    assert first == again != other
    assert len(first["cosines"]["density"]["negative"]) == COSINES.points == 201
