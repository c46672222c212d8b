"""What the compare stage refuses: exit status 1 and one sentence, nothing written."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pipeline.results.metrics import scores_archive
from tests.results.lab import Project, clusters, result
from tests.tiny import Refused, change_json


@pytest.fixture
def refusal(project: Project, refused: Refused) -> Callable[[], str]:
    """What `compare` says of the project as it is."""

    def sentence() -> str:
        said = refused(project.compare())
        assert not (project.folder / "results").exists()
        return said

    return sentence


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"tasks": {"STS-B": 300, "STS12": 20}}, "evaluate all encoders on the same tasks"),
        ({"tasks": {"STS-B": 301}}, "has pairs {'STS-B': 301}, info_nce/1 has {'STS-B': 300}"),
        ({"data": "senteval"}, "has data senteval, info_nce/1 has sample"),
        ({"setting": "test"}, "has setting test, info_nce/1 has fast"),
        ({"label": "benchmark"}, "'MR': 'benchmark'}, info_nce/1 has {"),
        ({"transfer": {"TREC": 1.0}}, "has tasks STS-B, TREC, info_nce/1 has STS-B, MR"),
        ({"transfer": {}}, "has tasks STS-B, info_nce/1 has STS-B, MR"),
    ],
)
def test_encoders_that_were_measured_otherwise(
    project: Project, refusal: Callable[[], str], other: dict[str, Any], message: str
) -> None:
    project.add("info_nce", transfer={"MR": 1.0})
    project.add("vicreg", **({"transfer": {"MR": 2.0}} | other))
    assert message in refusal()


def with_another_backbone(project: Project) -> None:
    project.add("mpt")
    project.add_untrained(tasks={"STS12": 100})


def without_labels(project: Project) -> None:
    project.add("mhe")
    path = project.folder / "metrics" / "mhe" / "1.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["sts"]["STS-B"]["label"]
    path.write_text(json.dumps(content), encoding="utf-8")


def in_another_precision(project: Project) -> None:
    project.add("mhe")
    project.add("mpt")
    change_json(project.folder / "metrics/mpt/1.json", precision="bf16")


def in_anothers_place(project: Project) -> None:
    project.add("vicreg")
    (project.folder / "metrics" / "vicreg").rename(project.folder / "metrics" / "mhe")


UNUSABLE: dict[str, Callable[[Project], None]] = {
    "holds no <objective>/<seed>.json; run pipeline.evaluate first": lambda _: None,
    "untrained.json has tasks STS12, mpt/1 has STS-B": with_another_backbone,
    "(sts.STS-B.label: Field required); evaluate the encoder again": without_labels,
    "mpt/1.json has precision bf16, mhe/1 has fp32": in_another_precision,
    "was measured on vicreg-1": in_anothers_place,
    "1.json is not <objective>/<seed>.json as": lambda project: project.write(
        "metrics/mhe/1.json", b"{"
    ),
}


@pytest.mark.parametrize("message", UNUSABLE)
def test_metrics_that_cannot_be_used(
    project: Project, refusal: Callable[[], str], message: str
) -> None:
    UNUSABLE[message](project)
    assert message in refusal()


def test_scores_that_are_missing_or_of_another_run(
    project: Project, refusal: Callable[[], str]
) -> None:
    """Git has the metrics and DVC the scores, so that one may be there without the other."""
    project.add("vicreg")
    project.add("vicreg_modified")
    path = project.folder / "scores" / "vicreg" / "1.npz"
    path.unlink()
    assert "vicreg/1.npz has no scores of STS-B that can be read" in refusal()
    other = result({"STS12": 300}, 3, 1)
    path.write_bytes(scores_archive(other, clusters(other)))
    assert "vicreg/1.npz has no scores of STS-B that can be read" in refusal()
    other = result({"STS-B": 300}, 3, 1)
    path.write_bytes(scores_archive(other, clusters(other)))
    assert "evaluate the encoder again to write both" in refusal()


def test_other_gold_scores(project: Project, refusal: Callable[[], str]) -> None:
    """Gold twice as large has the same ranks and scores, but is not the same data."""
    project.add("vicreg")
    project.add("vicreg_modified")
    path = project.folder / "scores" / "vicreg" / "1.npz"
    with np.load(path) as stored:
        arrays = dict(stored)
    arrays["STS-B/gold"] *= 2
    np.savez(path, allow_pickle=False, **arrays)
    message = "STS-B of vicreg/1 has other gold scores than vicreg_modified/1"
    assert message in refusal()
