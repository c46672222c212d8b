"""What the terminal shows of scores."""

from pathlib import Path

import numpy as np
from rich.console import Console

from pipeline.results.evaluate_tables import notes, tables
from pipeline.senteval.benchmark import Half, Result
from pipeline.senteval.known import Label
from pipeline.senteval.sts import SubsetScore, TaskScore
from pipeline.senteval.transfer import TransferScore

DATA = Path("somewhere")


def sts(label: Label) -> Half[TaskScore]:
    scores, subsets = np.arange(3.0), {"a": SubsetScore(10, 1), "b": SubsetScore(40, 2)}
    return Half((TaskScore("STS12", 60.125, 50, subsets, scores, scores, label),), ("STS13",))


def transfer(label: Label) -> Half[TransferScore]:
    mr = TransferScore("MR", 80.5, 81.5, None, (1e-5,) * 10, {"all": 10662}, label)
    counts = {"train": 4076, "test": 1725}
    mrpc = TransferScore("MRPC", 75.5, 74.5, 82.25, (1e-5,), counts, label)
    return Half((mr, mrpc), ("CR", "TREC"))


def shown(result: Result) -> list[list[str]]:
    """Cells of all lines."""
    console = Console(width=120)
    with console.capture() as captured:
        for table in tables("vicreg-1", result):
            console.print(table)
    lines = captured.get().replace("┃", "│").splitlines()
    return [[cell.strip() for cell in line.split("│")[1:-1]] or [line.strip()] for line in lines]


def test_each_half_has_a_table_with_its_average() -> None:
    lines = shown(Result(sts("other"), transfer("other"), "test"))
    assert ["vicreg-1: correlation of cosine and gold x 100"] in lines
    assert ["STS12", "60.12", "50.00", "25.00", "30.00", "3"] in lines
    assert ["vicreg-1: accuracy in %, setting test, classifier mlp"] in lines
    assert ["task", "accuracy", "F1", "dev accuracy", "rows"] in lines
    assert ["MR", "80.50", "", "81.50", "all 10,662"] in lines
    assert ["MRPC", "75.50", "82.25", "74.50", "train 4,076, test 1,725"] in lines
    assert ["avg of 2", "78.00", "", "", ""] in lines


def test_missing_tasks_and_other_data_are_pointed_out() -> None:
    missing, other = notes(Result(sts("other"), transfer("benchmark"), "test"), DATA)
    assert missing == "Missing, no data in somewhere: STS13, CR, TREC."
    assert other.startswith("Not to be put beside published numbers, as the files in somewhere")
    assert other.endswith(": STS12.")
