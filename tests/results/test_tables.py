"""The table of STS scores: order, arithmetic, caption; equal inputs give equal files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.senteval.tasks import STS_TASKS
from tests.results.lab import close, result

if TYPE_CHECKING:
    from tests.results.lab import Project


class TestTable:
    def test_rows_stand_in_the_papers_order_each_original_before_its_modified_form(
        self, project: Project
    ) -> None:
        for objective in (
            "vicreg_modified",
            "vicreg",
            "paradigm",
            "mhe",
            "barlow_twins_modified",
            "arccon",
            "info_nce",
        ):
            project.add(objective)
        assert project.compare() == 0
        assert project.table_column() == [
            "`info_nce`",
            "`arccon`",
            "`mhe`",
            "`barlow_twins_modified`",
            "`vicreg`",
            "`vicreg_modified`",
            "*modified - original*",
            "`paradigm`",
        ]

    def test_only_the_objectives_and_seeds_asked_for_are_compared(self, project: Project) -> None:
        """What earlier runs left in the folders stays out."""
        for objective in ("info_nce", "vicreg"):
            project.add(objective, 42)
            project.add(objective, 43)
        project.add("mhe", 42, tasks={"STS12": 100})
        assert project.compare("--objectives", "info_nce", "vicreg", "--seeds", "43") == 0
        objectives = project.json()["objectives"]
        assert {name: found["seeds"] for name, found in objectives.items()} == {
            "info_nce": [43],
            "vicreg": [43],
        }

    def test_an_encoder_asked_for_but_not_measured_is_named(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        project.add("info_nce", 42)
        assert project.compare("--objectives", "info_nce", "mhe", "--seeds", "42") == 1
        message = capsys.readouterr().err
        assert message.startswith("compare: metrics: ")
        assert message.endswith("metrics holds no mhe/42.json; run pipeline.evaluate first.\n")

    @pytest.mark.parametrize(
        ("asked", "absent"),
        [
            (("--objectives", "info_nce", "mhe"), "mhe/<seed>.json"),
            (("--seeds", "42", "43"), "<objective>/43.json"),
        ],
    )
    def test_a_name_or_seed_of_which_nothing_is_there_is_not_left_out(
        self,
        project: Project,
        capsys: pytest.CaptureFixture[str],
        asked: tuple[str, ...],
        absent: str,
    ) -> None:
        project.add("info_nce", 42)
        assert project.compare(*asked) == 1
        assert f"metrics holds no {absent}; run" in capsys.readouterr().err

    def test_columns_are_the_tasks_that_ran_and_their_average(self, project: Project) -> None:
        """One seed has no deviation and says so."""
        project.add("info_nce", tasks={"STS12": 100, "STS-B": 50})
        project.compare()
        header = project.markdown().split("\n\n")[1].splitlines()[0]
        assert header == "| objective | seeds | STS12 | STS-B | avg |"
        scores = project.json()["objectives"]["info_nce"]["scores"]
        expected = (scores["STS12"]["mean"] + scores["STS-B"]["mean"]) / 2
        assert scores["avg"] == {"mean": close(expected), "deviation": None}
        assert project.table_column(1) == ["n = 1"]
        assert "±" not in project.table_column(2)[0]

    def test_several_seeds_give_mean_and_sample_standard_deviation(self, project: Project) -> None:
        for seed in (1, 2, 3):
            project.add("info_nce", seed)
        project.compare()
        found = [result({"STS-B": 300}, 2, seed).average for seed in (1, 2, 3)]
        cell = project.json()["objectives"]["info_nce"]["scores"]["STS-B"]
        assert cell["mean"] == close(np.mean(found))
        assert cell["deviation"] == close(np.std(found, ddof=1))
        assert project.table_column(1) == ["n = 3"]
        assert project.table_column(2) == [f"{cell['mean']:.2f} ± {cell['deviation']:.2f}"]

    def test_the_terminal_shows_the_table(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        project.add("info_nce")
        project.compare()
        assert capsys.readouterr().out == project.markdown()


class TestCaption:
    def test_it_says_what_was_measured_on_and_what_was_missing(self, project: Project) -> None:
        project.add("info_nce")
        project.compare()
        caption = project.markdown()
        assert "Measured on `sample`." in caption
        assert "Missing, as their data was not there: STS12, STS13, STS14" in caption

    def test_the_sample_must_not_be_put_beside_published_numbers(self, project: Project) -> None:
        project.add("info_nce")
        project.compare()
        assert (
            "**Not comparable (the files of STS-B are not the benchmark's): the numbers must not "
            "be put beside published ones.**"
        ) in project.markdown()
        assert project.json()["comparable_to_published"] is False

    def test_the_published_test_sets_need_no_warning(self, project: Project) -> None:
        tasks = {task: 100 + k for k, task in enumerate(STS_TASKS)}
        project.add("info_nce", tasks=tasks, data="senteval", label="benchmark")
        project.compare()
        assert "Measured on `senteval`; avg of seven." in project.markdown()
        assert "must not" not in project.markdown()
        assert "Missing" not in project.markdown()


def test_equal_inputs_give_equal_bytes(drawing_project: Project) -> None:
    project = drawing_project
    for objective, noise in (("info_nce", 1), ("vicreg", 2), ("vicreg_modified", 1.5)):
        for seed in (1, 2):
            project.add(objective, seed, noise=noise)
    assert project.compare(out="first") == project.compare(out="second") == 0
    names = {"comparison.md", "comparison.json", "curves.json", "curves.svg", "curves.png"}
    first, second = project.folder / "first", project.folder / "second"
    assert {path.name for path in first.iterdir()} == names
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes()
