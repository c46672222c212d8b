"""The tables: order, arithmetic, captions; equal inputs give equal files."""

import numpy as np
import pytest

from pipeline.senteval.tasks import STS_TASKS, TRANSFER_TASKS
from tests.results.lab import Project, close, result
from tests.tiny import Refused

ALL_STS = {task: 100 + k for k, task in enumerate(STS_TASKS)}
ALL_TRANSFER = dict(zip(TRANSFER_TASKS, (80.0, 85.0, 94.0, 89.0, 84.0, 88.0, 75.0), strict=True))


class TestRows:
    def test_they_stand_in_the_papers_order_each_original_before_its_modified_form(
        self, project: Project
    ) -> None:
        order = ["info_nce", "arccon", "mhe", "barlow_twins_modified", "vicreg", "vicreg_modified"]
        for objective in ("paradigm", *reversed(order)):
            project.add(objective)
        for name in ("untrained", "untrained_mean"):
            project.add_untrained(name)
        assert project.compare() == 0
        rows = [name.strip("`*") for name, *_ in project.table("Spearman")[1:]]
        backbones, gain = ["untrained", "untrained_mean"], "modified - original"
        assert rows == [*backbones, *order, gain, "paradigm"]

    def test_only_the_objectives_and_seeds_asked_for_are_compared(self, project: Project) -> None:
        """What earlier runs left in the folders stays out."""
        for objective in ("info_nce", "vicreg"):
            project.add(objective, 42)
            project.add(objective, 43)
        project.add("mhe", 42, tasks={"STS12": 100})
        assert project.compare("--objectives", "info_nce", "vicreg", "--seeds", "43") == 0
        objectives = project.json()["objectives"]
        seeds = {name: found["seeds"] for name, found in objectives.items()}
        assert seeds == {"info_nce": [43], "vicreg": [43]}

    @pytest.mark.parametrize(
        ("asked", "absent"),
        [
            (("--objectives", "info_nce", "mhe", "--seeds", "42"), "mhe/42.json"),
            (("--objectives", "info_nce", "mhe"), "mhe/<seed>.json"),
            (("--seeds", "42", "43"), "<objective>/43.json"),
        ],
    )
    def test_what_was_asked_for_and_is_not_there_is_named(
        self, project: Project, refused: Refused, asked: tuple[str, ...], absent: str
    ) -> None:
        project.add("info_nce", 42)
        message = refused(project.compare(*asked))
        assert message.startswith("compare: metrics: ")
        assert message.endswith(f"metrics holds no {absent}; run pipeline.evaluate first.\n")

    def test_columns_are_the_tasks_that_ran_and_their_average(self, project: Project) -> None:
        """One seed has no deviation and says so."""
        project.add("info_nce", tasks={"STS12": 100, "STS-B": 50})
        project.compare()
        header, row = project.table("Spearman")
        assert header == ["objective", "seeds", "STS12", "STS-B", "avg"]
        scores = project.json()["objectives"]["info_nce"]["scores"]
        expected = (scores["STS12"]["mean"] + scores["STS-B"]["mean"]) / 2
        assert scores["avg"] == {"mean": close(expected), "deviation": None}
        assert row[1] == "n = 1"
        assert "±" not in row[2]

    def test_several_seeds_give_mean_and_sample_standard_deviation(self, project: Project) -> None:
        for seed in (1, 2, 10):
            project.add("info_nce", seed)
        project.compare()
        scores = [result({"STS-B": 300}, 2, seed).average for seed in (1, 2, 10)]
        row = project.json()["objectives"]["info_nce"]
        assert row["seeds"] == [1, 2, 10]
        cell = row["scores"]["STS-B"]
        assert cell == {"mean": close(np.mean(scores)), "deviation": close(np.std(scores, ddof=1))}
        shown = f"{cell['mean']:.2f} ± {cell['deviation']:.2f}"
        assert project.table("Spearman")[1] == ["`info_nce`", "n = 3", shown]


class TestTransfer:
    def test_seeds_give_mean_and_deviation_and_a_modified_form_its_gain(
        self, project: Project
    ) -> None:
        """Seeds at 60 and 62: 61 with deviation sqrt(2); the modified form at 64: 3 more."""
        project.add("vicreg", 1, transfer={"TREC": 60.0})
        project.add("vicreg", 2, transfer={"TREC": 62.0})
        project.add("vicreg_modified", 1, transfer={"TREC": 64.0})
        project.compare()
        assert project.table("Accuracy")[1:] == [
            ["`vicreg`", "n = 2", "61.00 ± 1.41"],
            ["`vicreg_modified`", "n = 1", "64.00"],
            ["*modified - original*", "", "*+3.00*"],
        ]
        content = project.json()["transfer"]
        spread = {"mean": 61.0, "deviation": close(2**0.5)}
        assert content["objectives"]["vicreg"]["scores"] == {"TREC": spread, "avg": spread}
        assert content["differences"] == {"vicreg_modified": {"TREC": 3.0, "avg": 3.0}}
        assert (content["counts"], content["labels"]) == ({"TREC": {"all": 400}}, {"TREC": "other"})

    def test_alone_it_is_compared_without_scores_or_intervals(self, project: Project) -> None:
        for objective, accuracy in (("vicreg", 60.0), ("vicreg_modified", 61.0)):
            project.add(objective, tasks={}, transfer={"MR": accuracy})
            (project.folder / "scores" / objective / "1.npz").unlink()
        assert project.compare() == 0
        assert "confidence" not in project.markdown()
        assert {"objectives", "pairs", "average_label", "differences"}.isdisjoint(project.json())
        assert project.json()["transfer"]["differences"]["vicreg_modified"]["MR"] == 1.0
        assert list(project.json()["dev"]) == ["vicreg", "vicreg_modified"]


class TestCaptions:
    def test_they_say_on_what_and_how_it_was_measured_and_what_was_missing(
        self, project: Project
    ) -> None:
        project.add("info_nce", transfer={"MR": 70.0}, setting="test")
        project.compare()
        captions = project.markdown()
        assert captions.count("Measured on `sample`.") == 2
        assert "Setting `test`, classifier `mlp`." in captions
        assert "Missing, as their data was not there: STS12, STS13, STS14" in captions
        content = project.json()["transfer"]
        assert (content["setting"], content["classifier"]) == ("test", "mlp")

    @pytest.mark.parametrize(
        ("label", "setting", "sts", "transfer"),
        [
            ("benchmark", "test", "", ""),
            ("benchmark", "fast", "", "papers report setting `test` with classifier `mlp`"),
            (
                "other",
                "test",
                "the files of STS-B are not the benchmark's",
                "the files of MR, TREC are not the benchmark's",
            ),
        ],
    )
    def test_what_is_no_benchmark_of_papers_must_not_be_put_beside_them(
        self, project: Project, label: str, setting: str, sts: str, transfer: str
    ) -> None:
        accuracies = {"MR": 70.0, "TREC": 60.0}
        project.add("info_nce", transfer=accuracies, setting=setting, label=label)  # type: ignore[arg-type]
        project.compare()
        content = project.json()
        for reason, part in ((sts, content), (transfer, content["transfer"])):
            line = (
                f"**Not comparable ({reason}): the numbers must not be put beside published ones.**"
            )
            assert part["comparable_to_published"] is not bool(reason)
            assert (line in project.markdown()) is bool(reason)

    def test_all_seven_tasks_make_an_average_of_seven(self, project: Project) -> None:
        """The mean of 80, 85, 94, 89, 84, 88 and 75 is 85."""
        project.add("info_nce", tasks=ALL_STS, transfer=ALL_TRANSFER, data="senteval")
        project.compare()
        assert project.markdown().count("Measured on `senteval`; avg of seven.") == 2
        assert project.table("Accuracy")[0] == ["objective", "seeds", *TRANSFER_TASKS, "avg"]
        assert project.table("Accuracy")[1][-1] == "85.00"
        assert "Missing" not in project.markdown()


class TestCurves:
    def test_rows_for_dvc_name_encoder_step_and_score(self, project: Project) -> None:
        project.add("info_nce", 3)
        project.compare()
        assert project.json("curves") == [
            {"encoder": "info_nce-3", "step": 0, "dev_spearman": 50.0},
            {"encoder": "info_nce-3", "step": 50, "dev_spearman": 61.5},
            {"encoder": "info_nce-3", "step": 100, "dev_spearman": 60.25},
        ]

    def test_best_and_last_dev_score_stand_in_a_table_of_their_own(self, project: Project) -> None:
        """Seeds 1 and 2 end at 60.25 and 58.25: 59.25 with sqrt(2) as deviation, best 61.50."""
        project.add("vicreg", 1)
        project.add("vicreg", 2, curve="step,dev_spearman\n50,61.5\n100,58.25\n")
        project.add_untrained(dev=50.0)
        project.add_untrained("untrained_mean", dev=55.0)
        project.compare()
        assert project.json()["dev"]["vicreg"] == {
            "best": {"mean": 61.5, "deviation": 0.0},
            "last": {"mean": 59.25, "deviation": close(2**0.5)},
        }
        assert project.table("Spearman's correlation x 100 on the dev pairs")[1:] == [
            ["`untrained`", "50.00", "-", "-"],
            ["`untrained_mean`", "55.00", "-", "-"],
            ["`vicreg`", "59.25 ± 1.41", "61.50 ± 0.00", "-2.25"],
        ]

    def test_an_encoder_without_a_curve_is_named_on_the_terminal_below_the_tables(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        project.add("info_nce", curve=None)
        assert project.compare() == 0
        assert project.json("curves") == []
        assert "last - best" not in project.markdown()
        note = f"\nNo curve in {project.folder / 'curves'} for info_nce-1.\n"
        assert capsys.readouterr().out == f"{project.markdown()}{note}"


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
