"""The tables of a reproduction: both readings, ablation, learning rates, and which cells ran."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.encoder.record import Origin
from pipeline.reproduction import main
from pipeline.senteval.benchmark import Half, Result
from pipeline.senteval.sts import TaskScore
from tests.results.lab import Project, close, result, transfer_result
from tests.tiny import Refused

TASKS = {"STS12": 200, "STS-B": 100}


class Cells:
    """A folder of cells, as `pipeline.cell` leaves it."""

    def __init__(self, folder: Path) -> None:
        self.runs, self.out = folder / "runs", folder / "out"
        self.main = Project(self.runs / "3.0e-4")
        self.ran: list[list[str]] = [["rate", "objective", "seed", "day", "processor"]]

    def add(
        self, objective: str, seed: int = 42, *, rate: str = "3.0e-4", last: float, best: float = 1
    ) -> Half[TaskScore]:
        """A cell whose cosines have so much noise at the last and at the best step."""
        project, place = Project(self.runs / rate), f"{objective}/{seed}"
        curve = f"step,dev_spearman\n0,50\n400,{70 - last}\n"
        project.add(objective, seed, noise=last, tasks=TASKS, curve=curve)
        chosen = Result(result(TASKS, best, seed), transfer_result({}), "fast")
        project.measured(place, chosen, made(objective, seed), reading="best")
        record = {"training": {"precision": "bf16"}, "versions": {"torch": "2.13.0"}}
        project.write(f"records/{place}.json", json.dumps(record).encode())
        self.ran.append([rate, objective, str(seed), "2026-11-30", "Xeon, Intel"])
        return result(TASKS, last, seed)

    def tables(self) -> dict[str, str]:
        """By heading, what the stage wrote below it."""
        with (self.runs / "cells.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(self.ran)
        options = ["--runs", str(self.runs), "--rate", "3.0e-4", "--out", str(self.out)]
        assert main([*options, "--resamples", "100"]) == 0
        text = (self.out / "reproduction.md").read_text(encoding="utf-8")
        parts = (part.partition("\n") for part in text.removeprefix("# ").split("\n## "))
        return {heading: below for heading, _, below in parts}

    def numbers(self) -> Any:
        return json.loads((self.out / "reproduction.json").read_text(encoding="utf-8"))


def made(objective: str, seed: int) -> Origin:
    return Origin(objective, seed, None, None, None)


def table(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in (lines[0], *lines[2:])]


@pytest.fixture
def cells(tmp_path: Path) -> Cells:
    return Cells(tmp_path)


def test_both_readings_stand_side_by_side_with_the_backbone(cells: Cells) -> None:
    for seed in (42, 43):
        cells.add("vicreg", seed, last=6, best=2)
        cells.add("vicreg_modified", seed, last=1)
    for name in ("untrained", "untrained_mean"):
        cells.main.add_untrained(name, noise=8, tasks=TASKS)
    found = cells.tables()
    assert list(found) == ["Reproduction", "Last step", "Best step", "Cells"]
    names = ["`untrained`", "`untrained_mean`", "`vicreg`", "`vicreg_modified`"]
    for reading in ("Last step", "Best step"):
        assert [row[0] for row in table(found[reading])[1:5]] == names
        assert "Noise floor" in found[reading]
    numbers = cells.numbers()
    worst, chosen = ([result(TASKS, noise, seed).average for seed in (42, 43)] for noise in (6, 2))
    summary = table(found["Reproduction"])
    assert summary[0] == ["objective", "seeds", "last step", "best step"]
    assert [row[0] for row in summary[1:]] == [*names, "*modified - original*"]
    last = numbers["last"]["objectives"]["vicreg"]["scores"]["avg"]
    best = numbers["best"]["vicreg"]["scores"]["avg"]
    assert (last["mean"], best["mean"]) == (close(sum(worst) / 2), close(sum(chosen) / 2))
    shown = [f"{one['mean']:.2f} ± {one['deviation']:.2f}" for one in (last, best)]
    assert summary[3] == ["`vicreg`", "n = 2", *shown]


def test_a_rate_without_cells_and_a_cell_that_is_not_complete_are_refused(
    cells: Cells, refused: Refused
) -> None:
    cells.add("vicreg", last=6)
    cells.add("mhe", last=6)
    options = ["--runs", str(cells.runs), "--out", str(cells.out), "--rate"]
    assert "holds no cell of rate 3e-4; there are cells of: 3.0e-4." in refused(
        main([*options, "3e-4"])
    )
    shutil.rmtree(cells.runs / "3.0e-4/best/mhe")
    assert "cell mhe-42 of rate 3.0e-4 is not complete" in refused(main([*options, "3.0e-4"]))


def test_an_ablation_shows_the_average_after_each_step(cells: Cells) -> None:
    averages = [
        cells.add(f"vicreg{step}", last=noise).average
        for step, noise in (("", 6), ("_dissipation", 4), ("_modified", 1))
    ]
    cells.add("vicreg", 43, last=2)  # which the steps do not have
    cells.add("mhe", last=6)
    cells.add("mhe_modified", last=6)  # with no step between
    header, last, best = table(cells.tables()["Ablation"])
    steps = ["original", "+ dissipation", "+ weight", "+ ratio"]
    assert header == ["original", "reading", "seeds", *steps]
    original, gate, modified = (f"{average:.2f}" for average in averages)
    assert last == ["`vicreg`", "last", "42", original, gate, "-", modified]
    assert best[:2] == ["`vicreg`", "best"]


def test_losses_of_others_stand_as_they_are_and_repaired_below_the_baseline(cells: Cells) -> None:
    names = ("info_nce", "siglip", "siglip_repaired", "circle_repaired", "ranking")
    averages = {
        name: cells.add(name, last=noise, best=noise + 1).average
        for name, noise in zip(names, (2, 6, 1, 1, 1), strict=True)
    }
    shown = table(cells.tables()["Repaired losses"])
    assert [row[0] for row in shown[1:]] == [
        "`info_nce`",
        "`siglip`",
        "`siglip_repaired`",
        "*repaired - as it is*",
    ]
    assert [row[2] for row in shown[1:4]] == [f"{averages[name]:.2f}" for name in names[:3]]
    best = [result(TASKS, noise, 42).average for noise in (7, 2)]
    assert shown[4][2:] == [
        f"*{averages['siglip_repaired'] - averages['siglip']:+.2f}*",
        f"*{best[1] - best[0]:+.2f}*",
    ]


def test_learning_rates_stand_in_columns_and_the_best_on_dev_is_bold(cells: Cells) -> None:
    """The dev score of these cells falls with their noise."""
    averages = {
        rate: cells.add("vicreg", rate=rate, last=noise, best=1).average
        for rate, noise in (("3.0e-5", 2), ("3.0e-4", 6), ("1.0e-3", 9))
    }
    cells.add("mhs", last=6)  # with one rate only
    best = f"{result(TASKS, 1, 42).average:.2f}"
    header, row = table(cells.tables()["Learning rates"])
    assert header == ["objective", "3.0e-5", "3.0e-4", "1.0e-3"]
    low, middle, high = (f"{average:.2f} ({best})" for average in averages.values())
    assert row == ["`vicreg`", f"**{low}**", middle, high]


def test_transfer_has_a_table_where_it_was_measured(cells: Cells) -> None:
    cells.add("vicreg", last=6)
    scores = Result(result({}, 1, 1), transfer_result({"MR": 70.0}), "fast")
    cells.main.measured("vicreg/42", scores, made("vicreg", 42), reading="transfer")
    assert table(cells.tables()["Transfer, last step"])[1] == ["`vicreg`", "n = 1", "70.00"]
    assert cells.numbers()["transfer"]["vicreg"]["scores"]["MR"]["mean"] == 70


def test_each_cell_says_when_on_what_and_how_it_ran(cells: Cells) -> None:
    cells.add("vicreg", last=6)
    (row,) = table(cells.tables()["Cells"])[1:]
    assert row == ["3.0e-4", "`vicreg`", "42", "2026-11-30", "Xeon, Intel", "bf16", "2.13.0"]
