"""The table of transfer accuracies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.senteval.tasks import TRANSFER_TASKS
from tests.results.lab import close

if TYPE_CHECKING:
    from tests.results.lab import Project


ALL_SEVEN = dict(zip(TRANSFER_TASKS, (80.0, 85.0, 94.0, 89.0, 84.0, 88.0, 75.0), strict=True))


class TestTransfer:
    def table(self, project: Project) -> list[list[str]]:
        """Cells of the transfer table, without its rule."""
        blocks = project.markdown().split("\n\n")
        place = next(k for k, block in enumerate(blocks) if block.startswith("Accuracy in percent"))
        header, _, *body = blocks[place + 1].splitlines()
        return [[cell.strip() for cell in line.split("|")[1:-1]] for line in (header, *body)]

    def test_columns_are_those_of_the_papers_table(self, project: Project) -> None:
        """The mean of 80, 85, 94, 89, 84, 88 and 75 is 85."""
        project.add("info_nce", transfer=dict(reversed(ALL_SEVEN.items())))
        assert project.compare() == 0
        header, row = self.table(project)
        assert header[2:] == ["MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC", "avg"]
        assert row[:2] == ["`info_nce`", "n = 1"]
        assert row[2:] == ["80.00", "85.00", "94.00", "89.00", "84.00", "88.00", "75.00", "85.00"]
        assert "classifier `mlp`. Measured on `sample`; avg of seven." in project.markdown()

    def test_seeds_give_mean_and_deviation_and_twins_their_difference(
        self, project: Project
    ) -> None:
        """Seeds at 60 and 62: 61 with deviation sqrt(2); the modified form at 64: 3 more."""
        project.add("vicreg", 1, transfer={"TREC": 60.0})
        project.add("vicreg", 2, transfer={"TREC": 62.0})
        project.add("vicreg_modified", 1, transfer={"TREC": 64.0})
        project.compare()
        assert self.table(project)[1:] == [
            ["`vicreg`", "n = 2", "61.00 ± 1.41"],
            ["`vicreg_modified`", "n = 1", "64.00"],
            ["*modified - original*", "", "*+3.00*"],
        ]
        found = project.json()["transfer"]
        assert found["objectives"]["vicreg"] == {
            "seeds": [1, 2],
            "scores": {
                task: {"mean": 61.0, "deviation": close(2**0.5)} for task in ("TREC", "avg")
            },
        }
        assert found["differences"] == {"vicreg_modified": {"TREC": 3.0, "avg": 3.0}}

    def test_the_caption_says_setting_and_classifier(self, project: Project) -> None:
        project.add("info_nce", transfer={"MR": 70.0}, setting="test")
        project.compare()
        assert "Setting `test`, classifier `mlp`." in project.markdown()
        found = project.json()["transfer"]
        assert (found["setting"], found["classifier"]) == ("test", "mlp")
        assert found["counts"] == {"MR": {"all": 400}}
        assert found["labels"] == {"MR": "other"}

    def test_other_data_must_not_be_put_beside_published_numbers(self, project: Project) -> None:
        project.add("info_nce", transfer={"MR": 70.0, "TREC": 60.0}, setting="test")
        project.compare()
        assert (
            "(the files of MR, TREC are not the benchmark's): the numbers must not be put beside "
            "published ones.**"
        ) in project.markdown()
        assert project.json()["transfer"]["comparable_to_published"] is False

    def test_nor_must_the_benchmark_with_another_setting(self, project: Project) -> None:
        project.add("info_nce", transfer=ALL_SEVEN, label="benchmark", setting="fast")
        project.compare()
        assert "(papers report setting `test` with classifier `mlp`): the" in project.markdown()
        assert project.json()["transfer"]["comparable_to_published"] is False

    def test_the_benchmark_with_the_setting_of_papers_needs_no_warning(
        self, project: Project
    ) -> None:
        project.add("info_nce", transfer=ALL_SEVEN, label="benchmark", setting="test")
        project.compare()
        assert "must not" not in project.markdown()
        assert project.json()["transfer"]["comparable_to_published"] is True

    def test_transfer_results_alone_are_compared_without_scores_or_intervals(
        self, project: Project
    ) -> None:
        for objective, accuracy in (("vicreg", 60.0), ("vicreg_modified", 61.0)):
            project.add(objective, tasks={}, transfer={"MR": accuracy})
            (project.folder / "scores" / objective / "1.npz").unlink()
        assert project.compare() == 0
        assert "confidence" not in project.markdown()
        assert {"objectives", "pairs", "average_label", "differences"}.isdisjoint(project.json())
        assert project.json()["transfer"]["differences"]["vicreg_modified"]["MR"] == 1.0
        assert list(project.json()["dev"]) == ["vicreg", "vicreg_modified"]
