"""Training curves: rows for DVC, best and last dev scores, the plot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.results.lab import close

if TYPE_CHECKING:
    import pytest

    from tests.results.lab import Project


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
        project.compare()
        assert project.json()["dev"]["vicreg"] == {
            "best": {"mean": 61.5, "deviation": 0.0},
            "last": {"mean": 59.25, "deviation": close(2**0.5)},
        }
        assert "| `vicreg` | 59.25 ± 1.41 | 61.50 ± 0.00 | -2.25 |" in project.markdown()

    def test_without_curves_there_is_no_table_of_dev_scores(self, project: Project) -> None:
        project.add("vicreg", curve=None)
        project.compare()
        assert "last - best" not in project.markdown()

    def test_an_encoder_without_a_curve_is_named(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        project.add("info_nce", curve=None)
        assert project.compare() == 0
        assert project.json("curves") == []
        assert "for info_nce-1." in capsys.readouterr().out
