"""What an objective differs by from others: intervals, and what they mean in words."""

import numpy as np
import pytest

from tests.results.lab import Project, close, result


class TestIntervals:
    def test_each_is_told_in_words_too(self, project: Project) -> None:
        project.add("vicreg", noise=8)
        project.add("vicreg_modified", noise=1)
        project.add("mhs", noise=2)
        project.add("mhs_modified", noise=2.01)
        project.add("mhe", 1)
        project.add("mhe_modified", 2)
        project.compare()
        clear = project.difference("vicreg_modified", "vicreg")["tasks"]["STS-B"]
        assert 0 < clear["low"] < clear["difference"] < clear["high"]
        assert "| higher in this run | 1 |" in project.markdown()
        assert project.difference("mhs_modified", "mhs")["tasks"]["avg"]["includes_zero"]
        assert "includes zero: 300 pairs cannot separate the two" in project.markdown()
        assert project.difference("mhe_modified", "mhe")["tasks"] == {}
        assert "| no seed in common | - |" in project.markdown()

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

    def test_three_seeds_are_drawn_too(self, project: Project) -> None:
        """Seeds 1 to 3 of the modified form differ far more than the pairs allow."""
        for seed, noise in ((1, 1.0), (2, 2.0), (3, 4.0)):
            project.add("vicreg", seed, noise=6)
            project.add("vicreg_modified", seed, noise=noise)
        project.compare()
        found = project.difference("vicreg_modified", "vicreg")["tasks"]["STS-B"]
        single = {}
        for seed in (1, 3):
            project.compare("--seeds", str(seed))
            single[seed] = project.difference("vicreg_modified", "vicreg")["tasks"]["STS-B"]
        assert found["low"] < single[3]["high"]
        assert found["high"] > single[1]["low"]
        assert found["high"] - found["low"] > single[1]["high"] - single[1]["low"]

    def test_pairs_that_hang_together_have_no_interval(self, project: Project) -> None:
        """15 pairs are at most 15 clusters: no resample says anything of others."""
        for name, noise in (("vicreg", 8), ("vicreg_modified", 1)):
            project.add(name, noise=noise, tasks={"STS-B": 15})
        project.compare()
        found = project.difference("vicreg_modified", "vicreg")
        assert found["tasks"]["STS-B"]["low"] is found["holm_p"] is None
        (row,) = project.table("Differences")[1:]
        assert row[4:6] == ["-", ""]
        assert row[6].startswith("no interval: the pairs form fewer than 20 groups")

    def test_of_three_seeds_pairs_and_seeds_together_cannot_separate(
        self, project: Project
    ) -> None:
        for seed in (1, 2, 3):
            project.add("vicreg", seed, noise=2)
            project.add("vicreg_modified", seed, noise=2.01)
        project.compare()
        assert "300 pairs and 3 seeds cannot separate the two" in project.markdown()

    def test_only_modified_forms_averages_have_p_and_holm_counts_them(
        self, project: Project
    ) -> None:
        """With 200 resamples the least p is 2/201; of two comparisons Holm makes 4/201."""
        for name in ("info_nce", "vicreg", "mhe"):
            project.add(name, noise=8)
        for name in ("vicreg_modified", "mhe_modified"):
            project.add(name, noise=1)
        project.compare("--baseline", "info_nce")
        ps = {
            (one["objective"], one["reference"]): one["holm_p"]
            for one in project.json()["differences"]
        }
        assert ps.pop(("vicreg_modified", "vicreg")) == close(4 / 201)
        assert ps.pop(("mhe_modified", "mhe")) == close(4 / 201)
        assert set(ps.values()) == {None}
        assert project.json()["noise_floor"] is None  # of one seed
        assert "Noise floor" not in project.markdown()


class TestNoiseFloor:
    def test_it_pools_the_deviations_of_seeds(self, project: Project) -> None:
        """Two objectives with three seeds each, 4 degrees of freedom: t = 2.776."""
        averages = {}
        for name, noise in (("info_nce", 1.0), ("vicreg", 3.0)):
            for seed in (1, 2, 3):
                project.add(name, seed, noise=noise)
            averages[name] = [result({"STS-B": 300}, noise, seed).average for seed in (1, 2, 3)]
        project.compare()
        floor = project.json()["noise_floor"]
        variance = np.mean([np.var(values, ddof=1) for values in averages.values()])
        assert floor["deviation"] == close(variance**0.5)
        assert (floor["degrees_of_freedom"], floor["seeds"]) == (4, 3)
        assert floor["smallest"] == pytest.approx(2.7764 * (2 * variance / 3) ** 0.5, rel=1e-4)
        assert f"Differences below {floor['smallest']:.2f} between two" in project.markdown()


class TestReferences:
    """What an objective is compared with."""

    def test_they_are_its_original_the_baseline_and_the_backbone_as_it_is_pooled(
        self, project: Project
    ) -> None:
        for objective in ("info_nce", "vicreg", "vicreg_modified", "one_of_my_own"):
            project.add(objective)
        for name in ("untrained", "untrained_mean"):
            project.add_untrained(name)
        project.compare("--baseline", "info_nce")
        pairs = [(one["objective"], one["reference"]) for one in project.json()["differences"]]
        assert pairs == [
            ("vicreg_modified", "vicreg"),
            *((name, "info_nce") for name in ("vicreg", "vicreg_modified", "one_of_my_own")),
            *((name, "untrained") for name in ("info_nce", "vicreg", "vicreg_modified")),
            ("one_of_my_own", "untrained"),
        ]

    def test_a_baseline_that_was_not_trained_is_compared_with_nothing(
        self, project: Project
    ) -> None:
        """And what is compared with nothing needs no scores."""
        project.add("vicreg")
        (project.folder / "scores" / "vicreg" / "1.npz").unlink()
        assert project.compare("--baseline", "info_nce") == 0
        assert project.json()["differences"] == []

    def test_all_seeds_are_compared_with_the_untrained_backbone(self, project: Project) -> None:
        for seed in (1, 2):
            project.add("mpt", seed, noise=1)
        project.add_untrained()
        project.compare()
        found = project.difference("mpt", "untrained")
        assert found["shared_seeds"] == [1, 2]
        before = result({"STS-B": 300}, 6, 0).average
        after = sum(result({"STS-B": 300}, 1, seed).average for seed in (1, 2)) / 2
        assert found["tasks"]["STS-B"]["difference"] == close(after - before)

    def test_only_a_modified_form_and_its_original_are_compared_task_by_task(
        self, project: Project
    ) -> None:
        """An ablation's step is no modified form, although its name begins like one."""
        for objective in ("vicreg", "vicreg_dissipation", "vicreg_modified"):
            project.add(objective, tasks={"STS12": 100, "STS-B": 101})
        project.compare("--baseline", "vicreg")
        assert [row[:3] for row in project.table("Differences")[1:]] == [
            ["`vicreg_modified`", "`vicreg`", "STS12"],
            ["`vicreg_modified`", "`vicreg`", "STS-B"],
            ["`vicreg_modified`", "`vicreg`", "avg"],
            ["`vicreg_dissipation`", "`vicreg`", "avg"],
        ]
