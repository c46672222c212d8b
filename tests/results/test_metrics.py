"""What the metrics of an encoder hold: rounded scores, averages, quantiles, no times."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from pipeline.encoder.record import Origin
from pipeline.results.evaluate_tables import notes, tables
from pipeline.results.metrics import Metrics, average_label, data_name, metrics
from pipeline.senteval.benchmark import Half, Result
from pipeline.senteval.sts import SubsetScore, TaskScore
from pipeline.senteval.tasks import STS_TASKS, TRANSFER_TASKS
from pipeline.senteval.transfer import TransferScore
from tests.tiny import ROOT, SAMPLE

VICREG = Origin("vicreg", 1, steps=9, step=4, dev_spearman=61.5)
STRANGER = Origin(None, None, None, None, None)


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


def written(
    sts: tuple[TaskScore, ...] = (),
    transfer: tuple[TransferScore, ...] = (),
    origin: Origin = VICREG,
) -> Any:
    """The content of the file."""
    measured = Result(Half(sts), Half(transfer), "test")
    return json.loads(json.dumps(metrics("vicreg-1", "abc", origin, measured, SAMPLE).content()))


def test_floats_are_rounded_and_means_are_over_subsets() -> None:
    """Subsets 10 (1 pair) and 40 (2 pairs): mean 25, weighted (10 + 80) / 3 = 30."""
    task = written((task_score("STS12", [0.1, 0.2, 0.3]),))["sts"]["STS12"]
    assert task["spearman"] == 60.123457
    assert (task["mean"], task["weighted_mean"], task["pairs"]) == (25, 30, 3)


def test_quantiles_are_over_the_pairs_of_all_tasks() -> None:
    scores = (task_score("STS12", [0.0, 0.1, 0.2]), task_score("STS13", [0.3, 0.4, 1.0]))
    quantiles = written(scores)["cosine_quantiles"]
    assert (quantiles[0], quantiles[50], quantiles[100]) == (0.0, 0.25, 1.0)


def test_only_all_seven_tasks_make_an_average_of_seven() -> None:
    assert average_label(list(STS_TASKS)) == "avg of seven"
    assert average_label(list(TRANSFER_TASKS)) == "avg of seven"
    assert average_label(["STS12", "STS-B"]) == "avg of 2: STS12, STS-B"
    assert average_label([*STS_TASKS[:4], *TRANSFER_TASKS[:3]]).startswith("avg of 7: ")


def test_a_transfer_task_is_written_with_all_that_its_score_depends_on() -> None:
    content = written(transfer=(transfer_score("TREC", 80.0), transfer_score("MRPC", 75.5)))
    assert (content["setting"], content["classifier"]) == ("test", "mlp")
    assert content["transfer"]["MRPC"] == {
        "accuracy": 75.5,
        "dev_accuracy": 70.5,
        "f1": 81.25,
        "strengths": [1e-05],
        "counts": {"train": 4076, "test": 1725},
        "label": "benchmark",
    }
    assert "f1" not in content["transfer"]["TREC"]
    assert content["transfer_average"] == 77.75
    assert content["transfer_average_label"] == "avg of 2: TREC, MRPC"


def test_a_half_that_did_not_run_leaves_no_figures() -> None:
    always = {"encoder", "version", "objective", "seed", "dev_spearman", "data", "tasks", "missing"}
    transfer = {"setting", "classifier", "transfer", "transfer_average", "transfer_average_label"}
    assert set(written(transfer=(transfer_score("MR", 80),))) == always | transfer
    sts = {"sts", "average", "average_label", "cosine_quantiles"}
    assert set(written((task_score("STS12", [0.1, 0.2, 0.3]),))) == always | sts


def test_of_an_encoder_that_triad_did_not_train_no_objective_is_made_up() -> None:
    content = written((task_score("STS12", [0.1, 0.2, 0.3]),), origin=STRANGER)
    assert content["objective"] is content["seed"] is None
    assert "dev_spearman" not in content


def test_the_terminal_shows_a_table_for_each_half_and_what_is_not_the_benchmark() -> None:
    sts = (task_score("STS12", [0.1, 0.2, 0.3]),)
    transfer = (transfer_score("MR", 80.5), transfer_score("MRPC", 75.5))
    measured = Result(Half(sts), Half(transfer), "test")
    console = Console(width=120)
    with console.capture() as captured:
        for table in tables("vicreg-1", measured):
            console.print(table)
    lines = [
        [cell.strip() for cell in line.split("│")[1:-1]] for line in captured.get().split("\n")
    ]
    assert ["STS12", "60.12", "50.00", "25.00", "30.00", "3"] in lines
    assert ["MR", "80.50", "", "70.50", "train 4,076, test 1,725"] in lines
    assert ["MRPC", "75.50", "81.25", "70.50", "train 4,076, test 1,725"] in lines
    assert ["avg of 2", "78.00", "", "", ""] in lines
    (note,) = notes(measured, SAMPLE)
    assert note.endswith("are not the benchmark's: STS12.")


def test_downstream_is_named_after_its_parent() -> None:
    assert data_name(Path("senteval/downstream")) == data_name(Path("senteval")) == "senteval"


COMMITTED = sorted(
    path
    for pattern in ("metrics/*/*.json", "results/**/metrics/**/*.json", "encoders/reference/*.json")
    for path in ROOT.glob(pattern)
)


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_schema_gives_back_every_committed_file(path: Path) -> None:
    content = Metrics.model_validate_json(path.read_bytes()).content()
    assert f"{json.dumps(content, indent=2)}\n".encode() == path.read_bytes()
