"""How many workers a cluster gets, and what one answers; no cluster is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from pipeline.embedding.encoding import Encoding
from pipeline.encoder.version import folder_version
from tests.embedding.lab import SENTENCES, FakeEncoder

ray = pytest.importorskip("ray", reason="needs the extra `ray`")

if TYPE_CHECKING:
    from pathlib import Path


class TestWorkers:
    @pytest.mark.parametrize(
        ("has", "given", "expected"),
        [
            ({"CPU": 4.0}, (None, None), (4, 0.0)),
            ({"CPU": 16.0, "GPU": 2.0}, (None, None), (2, 1.0)),
            ({"CPU": 16.0, "GPU": 2.0}, (None, 0.5), (4, 0.5)),
            ({"CPU": 16.0, "GPU": 2.0}, (3, 0.0), (3, 0.0)),
            ({"CPU": 1.0, "GPU": 2.0}, (None, None), (1, 1.0)),
        ],
    )
    def test_they_take_what_the_cluster_has(
        self,
        monkeypatch: pytest.MonkeyPatch,
        has: dict[str, float],
        given: tuple[int | None, float | None],
        expected: tuple[int, float],
    ) -> None:
        from pipeline.embedding.on_ray import Workers  # noqa: PLC0415 - it is Ray

        monkeypatch.setattr(ray, "cluster_resources", lambda: has)
        assert Workers.of(*given) == Workers(*expected)

    @pytest.mark.parametrize(
        ("has", "given"), [({"CPU": 2.0}, (3, None)), ({"CPU": 2.0}, (None, 1.0)), ({}, (None, 0))]
    )
    def test_more_than_it_has_is_refused_rather_than_waited_for(
        self,
        monkeypatch: pytest.MonkeyPatch,
        has: dict[str, float],
        given: tuple[int | None, float | None],
    ) -> None:
        from pipeline.embedding.on_ray import Workers  # noqa: PLC0415 - it is Ray

        monkeypatch.setattr(ray, "cluster_resources", lambda: has)
        with pytest.raises(ValueError, match=r"^--workers: .* are more than the cluster's .* CPUs"):
            Workers.of(*given)


def test_a_worker_answers_with_what_went_wrong(
    fake: FakeEncoder, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipeline.embedding import on_ray  # noqa: PLC0415 - it is Ray

    settings = Encoding(tiny_bert, "cpu", "cls", normalise=False, dtype="float32", batch_size=4)
    chunk = pa.table({"number": [3], "texts": [SENTENCES[:2]]})
    (answer,) = on_ray._Worker(settings, "another version")(chunk).to_pylist()
    assert answer["number"] == 3
    assert "is not the encoder that it is here" in answer["error"]
    (answer,) = on_ray._Worker(settings, folder_version(tiny_bert))(chunk).to_pylist()
    assert not answer["error"]
    found = np.frombuffer(answer["embeddings"], np.float32).reshape(2, -1)
    assert found[:, 0].tolist() == [len(sentence) for sentence in SENTENCES[:2]]
