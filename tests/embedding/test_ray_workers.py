"""How many workers a cluster gets; no cluster is started."""

from __future__ import annotations

import pytest

ray = pytest.importorskip("ray", reason="needs the extra `ray`")


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
    monkeypatch: pytest.MonkeyPatch, has: dict[str, float], given: tuple[int | None, float | None]
) -> None:
    from pipeline.embedding.on_ray import Workers  # noqa: PLC0415 - it is Ray

    monkeypatch.setattr(ray, "cluster_resources", lambda: has)
    with pytest.raises(ValueError, match=r"^--workers: .* are more than the cluster's .* CPUs"):
        Workers.of(*given)
