"""What the metrics of an encoder hold: rounded scores, averages, quantiles, no times."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pipeline.results.metrics import Measured, average_label, data_name, metrics
from pipeline.senteval.benchmark import Result
from pipeline.senteval.sts import StsResult, SubsetScore, TaskScore
from pipeline.senteval.tasks import STS_TASKS, TRANSFER_TASKS
from pipeline.senteval.transfer import TransferResult, TransferScore
from tests.tiny import SAMPLE

MEASURED = Measured("vicreg-1", "abc", "vicreg", 1)


def task_score(task: str, cosine: list[float]) -> TaskScore:
    return TaskScore(
        task=task,
        spearman=60.1234567,
        pearson=50,
        subsets={"a": SubsetScore(10, 1), "b": SubsetScore(40, 2)},
        cosine=np.array(cosine),
        gold=np.array([1.0, 2, 3]),
        label="other",
    )


def transfer_score(task: str, accuracy: float) -> TransferScore:
    return TransferScore(
        task=task,
        accuracy=accuracy,
        dev_accuracy=70.5,
        f1=81.25 if task == "MRPC" else None,
        weight_decays=(1e-05,),
        counts={"train": 4076, "test": 1725},
        label="benchmark",
    )


def result(
    sts: tuple[TaskScore, ...] = (),
    transfer: tuple[TransferScore, ...] = (),
    missing: tuple[str, ...] = (),
) -> Result:
    return Result(StsResult(sts, missing), TransferResult(transfer, ()), "test")


def test_floats_are_rounded_and_means_are_over_subsets() -> None:
    """Subsets 10 (1 pair) and 40 (2 pairs): mean 25, weighted (10 + 80) / 3 = 30."""
    measured = result((task_score("STS12", [0.1, 0.2, 0.3]),))
    found = metrics(MEASURED, measured, SAMPLE)["sts"]["STS12"]
    assert found["spearman"] == 60.123457
    assert (found["mean"], found["weighted_mean"], found["pairs"]) == (25, 30, 3)


def test_quantiles_are_over_the_pairs_of_all_tasks() -> None:
    scores = (task_score("STS12", [0.0, 0.1, 0.2]), task_score("STS13", [0.3, 0.4, 1.0]))
    quantiles = metrics(MEASURED, result(scores), SAMPLE)["cosine_quantiles"]
    assert (quantiles[0], quantiles[50], quantiles[100]) == (0.0, 0.25, 1.0)


def test_only_all_seven_tasks_make_an_average_of_seven() -> None:
    assert average_label(list(STS_TASKS)) == "avg of seven"
    assert average_label(list(TRANSFER_TASKS)) == "avg of seven"
    assert average_label(["STS12", "STS-B"]) == "avg of 2: STS12, STS-B"
    assert average_label([*STS_TASKS[:4], *TRANSFER_TASKS[:3]]).startswith("avg of 7: ")


def test_a_transfer_task_is_written_with_all_that_its_score_depends_on() -> None:
    scores = (transfer_score("TREC", 80.0), transfer_score("MRPC", 75.5))
    found = metrics(MEASURED, result(transfer=scores), SAMPLE)
    assert (found["setting"], found["classifier"]) == ("test", "mlp")
    assert found["transfer"]["MRPC"] == {
        "accuracy": 75.5,
        "dev_accuracy": 70.5,
        "f1": 81.25,
        "strengths": [1e-05],
        "counts": {"train": 4076, "test": 1725},
        "label": "benchmark",
    }
    assert "f1" not in found["transfer"]["TREC"]
    assert found["transfer_average"] == 77.75
    assert found["transfer_average_label"] == "avg of 2: TREC, MRPC"


def test_a_half_that_did_not_run_leaves_no_figures() -> None:
    always = {"encoder", "version", "objective", "seed", "data", "tasks", "missing"}
    transfer = metrics(MEASURED, result(transfer=(transfer_score("MR", 80),)), SAMPLE)
    added = {"setting", "classifier", "transfer"}
    assert set(transfer) == always | added | {"transfer_average", "transfer_average_label"}
    sts = metrics(MEASURED, result((task_score("STS12", [0.1, 0.2, 0.3]),)), SAMPLE)
    assert set(sts) == always | {"sts", "average", "average_label", "cosine_quantiles"}


def test_downstream_is_named_after_its_parent() -> None:
    assert data_name(Path("senteval/downstream")) == data_name(Path("senteval")) == "senteval"
