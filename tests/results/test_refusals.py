"""What the compare stage refuses: exit status 1 and one sentence, nothing written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pipeline.results.metrics import scores_archive
from tests.results.lab import result

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.results.lab import Project


def refused(project: Project, capsys: pytest.CaptureFixture[str], resamples: int = 200) -> str:
    assert project.compare(resamples=resamples) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert not (project.folder / "results").exists()
    return captured.err


def test_no_metrics_and_no_resamples(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    sentence = refused(project, capsys)
    assert "holds no <objective>/<seed>.json; run pipeline.evaluate first" in sentence
    project.add("info_nce")
    assert "bootstrap: 0 resamples" in refused(project, capsys, resamples=0)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"tasks": {"STS-B": 300, "STS12": 20}}, "evaluate all encoders on the same tasks"),
        ({"data": "senteval"}, "has data senteval, info_nce/1 has sample"),
        ({"setting": "test"}, "has setting test, info_nce/1 has fast"),
        ({"label": "benchmark"}, "'MR': 'benchmark'}, info_nce/1 has {"),
        ({"transfer": {"TREC": 1.0}}, "has tasks STS-B, TREC, info_nce/1 has STS-B, MR"),
        ({"transfer": {}}, "has tasks STS-B, info_nce/1 has STS-B, MR"),
    ],
)
def test_encoders_that_were_measured_otherwise(
    project: Project, capsys: pytest.CaptureFixture[str], other: dict[str, Any], message: str
) -> None:
    project.add("info_nce", transfer={"MR": 1.0})
    project.add("vicreg", **({"transfer": {"MR": 2.0}} | other))
    assert message in refused(project, capsys)


def without_labels(project: Project) -> None:
    project.add("mhe")
    path = project.folder / "metrics" / "mhe" / "1.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["sts"]["STS-B"]["label"]
    path.write_text(json.dumps(content), encoding="utf-8")


def in_anothers_place(project: Project) -> None:
    project.add("vicreg")
    (project.folder / "metrics" / "vicreg").rename(project.folder / "metrics" / "mhe")


METRICS: list[tuple[Callable[[Project], None], str]] = [
    (without_labels, "(it lacks 'label'); evaluate the encoder again"),
    (in_anothers_place, "was measured on vicreg-1"),
    (
        lambda project: project.write("metrics/mhe/best.json", b"{}"),
        "best.json is not <objective>/<seed>.json as",
    ),
    (
        lambda project: project.write("metrics/mhe/1.json", b"{"),
        "1.json is not <objective>/<seed>.json as",
    ),
    (
        lambda project: project.write("metrics/mhe/1.json", b'{"sts": {}}'),
        "1.json is not <objective>/<seed>.json as",
    ),
    (
        lambda project: project.add("mhe", transfer={"MR": float("inf")}),
        "transfer holds scores that are not finite",
    ),
]


@pytest.mark.parametrize(("spoil", "message"), METRICS)
def test_metrics_that_cannot_be_used(
    project: Project,
    capsys: pytest.CaptureFixture[str],
    spoil: Callable[[Project], None],
    message: str,
) -> None:
    spoil(project)
    assert message in refused(project, capsys)


def archive(cosine: list[Any], gold: list[Any]) -> dict[str, Any]:
    return {"STS-B/cosine": np.array(cosine), "STS-B/gold": np.array(gold)}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (archive([0.1, 0.2], [1.0]), "cosine has shape (2,), gold (1,)"),
        (archive([[0.1]], [[1.0]]), "cosine has shape (1, 1), gold (1, 1)"),
        (archive([float("nan"), 0.2], [1.0, 2.0]), "a cosine or gold score is not finite"),
        (archive(["a", "b"], [1.0, 2.0]), "has no scores of STS-B that can be read"),
    ],
)
def test_scores_that_are_no_pairs(
    project: Project, capsys: pytest.CaptureFixture[str], arrays: dict[str, Any], message: str
) -> None:
    project.add("vicreg")
    project.add("vicreg_modified")
    np.savez(project.folder / "scores" / "vicreg" / "1.npz", allow_pickle=False, **arrays)
    assert message in refused(project, capsys)


def test_scores_that_are_missing_cut_short_or_of_another_run(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.add("vicreg")
    project.add("vicreg_modified")
    path = project.folder / "scores" / "vicreg" / "1.npz"
    whole = path.read_bytes()
    path.unlink()
    assert "has no scores of STS-B" in refused(project, capsys)
    path.write_bytes(whole[:500])
    assert "vicreg/1.npz has no scores of STS-B that can be" in refused(project, capsys)
    path.write_bytes(scores_archive(result({"STS-B": 300}, 3, 1)))
    assert "evaluate the encoder again to write both" in refused(project, capsys)


def test_other_gold_scores(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Gold twice as large has the same ranks and scores, but is not the same data."""
    project.add("vicreg")
    project.add("vicreg_modified")
    path = project.folder / "scores" / "vicreg" / "1.npz"
    with np.load(path) as stored:
        cosine, gold = stored["STS-B/cosine"], stored["STS-B/gold"]
    np.savez(path, allow_pickle=False, **archive(cosine, 2 * gold))
    assert "has other gold scores than vicreg/1" in refused(project, capsys)


@pytest.mark.parametrize(
    ("curve", "message"),
    [
        (b"step,dev_spearman\n0,high\n", "line 2: step and dev_spearman must be numbers"),
        (b"step,dev_spearman\n0,1\n5,nan\n", "line 3: step and dev_spearman"),
        (b"step,loss\n0,1\n", "line 2: step and dev_spearman"),
        (b"step,dev_spearman\n", "holds no step"),
        (b"step,dev_spearman\n1,\x80\n", "info_nce/1.csv is no CSV text"),
    ],
)
def test_a_curve_that_cannot_be_read(
    project: Project, capsys: pytest.CaptureFixture[str], curve: bytes, message: str
) -> None:
    project.add("info_nce")
    project.write("curves/info_nce/1.csv", curve)
    assert message in refused(project, capsys)
