"""A modified objective less its original: intervals and what they mean in words."""

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
        found = project.json()["twins"]["vicreg_modified"]["bootstrap"]
        assert 0 < found["STS-B"]["low"] < found["STS-B"]["difference"] < found["STS-B"]["high"]
        assert "modified is better" in project.markdown()

    def test_an_interval_that_holds_zero_is_told_in_words(self, project: Project) -> None:
        project.add("mhs", noise=2)
        project.add("mhs_modified", noise=2.01)
        project.compare()
        assert project.json()["twins"]["mhs_modified"]["bootstrap"]["avg"]["holds_zero"]
        assert "holds zero: these pairs do not tell the two apart" in project.markdown()

    def test_the_average_has_an_interval_narrower_than_its_tasks(self, project: Project) -> None:
        """Independent errors of several tasks partly cancel in their mean."""
        for objective, noise in (("vicreg", 4), ("vicreg_modified", 3.5)):
            project.add(objective, noise=noise, tasks={"STS12": 200, "STS13": 201, "STS-B": 202})
        project.compare()
        found = project.json()["twins"]["vicreg_modified"]["bootstrap"]
        width = {task: cell["high"] - cell["low"] for task, cell in found.items()}
        average = width.pop("avg")
        assert average < min(width.values())

    def test_only_seeds_that_both_have_are_compared(self, project: Project) -> None:
        for seed in (1, 2):
            project.add("vicreg", seed)
        for seed in (2, 3):
            project.add("vicreg_modified", seed, noise=1)
        project.compare()
        found = project.json()["twins"]["vicreg_modified"]
        assert found["shared_seeds"] == [2]
        after, before = (result({"STS-B": 300}, noise, 2).average for noise in (1, 2))
        assert found["bootstrap"]["STS-B"]["difference"] == close(after - before)

    def test_no_seed_in_common_gives_no_interval(self, project: Project) -> None:
        project.add("vicreg", 1)
        project.add("vicreg_modified", 2)
        project.compare()
        assert project.json()["twins"]["vicreg_modified"]["bootstrap"] == {}
        assert "| no interval | - | - | none in common |" in project.markdown()

    def test_objectives_without_a_twin_need_no_scores(self, project: Project) -> None:
        project.add("info_nce")
        (project.folder / "scores" / "info_nce" / "1.npz").unlink()
        assert project.compare() == 0
        assert project.json()["twins"] == {}
