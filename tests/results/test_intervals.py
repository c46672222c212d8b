"""What an objective differs by from others: intervals, and what they mean in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.results.lab import close, result

if TYPE_CHECKING:
    from tests.results.lab import Project


class TestIntervals:
    def test_a_clear_difference_is_told(self, project: Project) -> None:
        project.add("vicreg", noise=8)
        project.add("vicreg_modified", noise=1)
        project.compare()
        found = project.difference("vicreg_modified", "vicreg")["tasks"]
        assert 0 < found["STS-B"]["low"] < found["STS-B"]["difference"] < found["STS-B"]["high"]
        assert "| higher | 1 |" in project.markdown()

    def test_an_interval_that_includes_zero_is_told_in_words(self, project: Project) -> None:
        project.add("mhs", noise=2)
        project.add("mhs_modified", noise=2.01)
        project.compare()
        assert project.difference("mhs_modified", "mhs")["tasks"]["avg"]["includes_zero"]
        assert "includes zero: 300 pairs cannot separate the two" in project.markdown()

    def test_the_average_has_an_interval_narrower_than_its_tasks(self, project: Project) -> None:
        """Independent errors of several tasks partly cancel in their mean."""
        for objective, noise in (("vicreg", 4), ("vicreg_modified", 3.5)):
            project.add(objective, noise=noise, tasks={"STS12": 200, "STS13": 201, "STS-B": 202})
        project.compare()
        found = project.difference("vicreg_modified", "vicreg")["tasks"]
        width = {task: cell["high"] - cell["low"] for task, cell in found.items()}
        average = width.pop("avg")
        assert average < min(width.values())

    def test_only_seeds_that_both_have_are_compared(self, project: Project) -> None:
        for seed in (1, 2):
            project.add("vicreg", seed)
        for seed in (2, 3):
            project.add("vicreg_modified", seed, noise=1)
        project.compare()
        found = project.difference("vicreg_modified", "vicreg")
        assert found["shared_seeds"] == [2]
        after, before = (result({"STS-B": 300}, noise, 2).average for noise in (1, 2))
        assert found["tasks"]["STS-B"]["difference"] == close(after - before)

    def test_no_seed_in_common_gives_no_interval(self, project: Project) -> None:
        project.add("vicreg", 1)
        project.add("vicreg_modified", 2)
        project.compare()
        assert project.difference("vicreg_modified", "vicreg")["tasks"] == {}
        assert "| no seed in common | - |" in project.markdown()

    def test_an_objective_that_is_compared_with_nothing_needs_no_scores(
        self, project: Project
    ) -> None:
        project.add("info_nce")
        (project.folder / "scores" / "info_nce" / "1.npz").unlink()
        assert project.compare() == 0
        assert project.json()["differences"] == []


class TestReferences:
    def test_every_objective_is_compared_with_the_baseline(self, project: Project) -> None:
        for objective in ("info_nce", "vicreg", "one_of_my_own"):
            project.add(objective)
        project.compare("--baseline", "info_nce")
        pairs = [(one["objective"], one["reference"]) for one in project.json()["differences"]]
        assert pairs == [("vicreg", "info_nce"), ("one_of_my_own", "info_nce")]

    def test_a_baseline_that_was_not_trained_is_compared_with_nothing(
        self, project: Project
    ) -> None:
        project.add("vicreg")
        assert project.compare("--baseline", "info_nce") == 0
        assert project.json()["differences"] == []

    def test_every_objective_is_compared_with_the_untrained_backbone(
        self, project: Project
    ) -> None:
        project.add("mpt", 1, noise=1)
        project.add("mpt", 2, noise=1)
        project.add_untrained()
        project.compare()
        found = project.difference("mpt", "untrained")
        assert found["shared_seeds"] == [1, 2]
        before = result({"STS-B": 300}, 6, 0).average
        after = sum(result({"STS-B": 300}, 1, seed).average for seed in (1, 2)) / 2
        assert found["tasks"]["STS-B"]["difference"] == close(after - before)
        assert project.table_column() == ["`untrained`", "`mpt`"]
        assert project.table_column(1) == ["-", "n = 2"]

    def test_the_untrained_backbone_must_be_measured_alike(self, project: Project) -> None:
        project.add("mpt")
        project.add_untrained(tasks={"STS12": 100})
        assert project.compare() == 1

    def test_only_a_modified_form_is_compared_task_by_task(self, project: Project) -> None:
        for objective in ("info_nce", "vicreg", "vicreg_modified"):
            project.add(objective, tasks={"STS12": 100, "STS-B": 101})
        project.compare("--baseline", "info_nce")
        rows = [line.split(" | ")[:3] for line in project.markdown().splitlines()]
        shown = [row for row in rows if row[0].startswith("| `") and row[1].startswith("`")]
        assert shown == [
            ["| `vicreg_modified`", "`vicreg`", "STS12"],
            ["| `vicreg_modified`", "`vicreg`", "STS-B"],
            ["| `vicreg_modified`", "`vicreg`", "avg"],
            ["| `vicreg`", "`info_nce`", "avg"],
            ["| `vicreg_modified`", "`info_nce`", "avg"],
        ]
