"""The compare stage: order and arithmetic of its tables, what it says in words, what it refuses."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from pipeline.compare import main
from pipeline.comparison.bootstrap import Interval
from pipeline.comparison.tables import reading
from pipeline.metrics import Identity, metrics, scores_archive
from pipeline.senteval.sts import PUBLISHED_PAIRS, StsResult, SubsetScore, TaskScore, spearman

close = partial(pytest.approx, rel=0, abs=1e-6)  # what is written has six digits
CURVE = "step,dev_spearman,loss\n0,50.0,3.1\n50,61.5,2.2\n100,60.25,2.0\n"


def result(tasks: dict[str, int], noise: float, seed: int) -> StsResult:
    """Cosines that follow gold up to noise of its own, on tasks with so many pairs."""
    scores = []
    for task, pairs in tasks.items():
        gold = np.random.default_rng(pairs).integers(0, 6, pairs).astype(float)
        draw = np.random.default_rng([seed, pairs, round(100 * noise)])
        cosine = gold + noise * draw.normal(size=pairs)
        score = spearman(cosine, gold)
        subsets = {"test": SubsetScore(score, pairs)}
        scores.append(TaskScore(task, score, score, subsets, cosine, gold))
    return StsResult(tuple(scores), tuple(task for task in PUBLISHED_PAIRS if task not in tasks))


class Project:
    """Folders as the stages before leave them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(
        self,
        objective: str,
        seed: int = 1,
        *,
        noise: float = 2,
        tasks: dict[str, int] | None = None,
        data: str = "sample",
        curve: str | None = CURVE,
    ) -> None:
        found = result(tasks or {"STS-B": 300}, noise, seed)
        identity = Identity(f"{objective}-{seed}", "abc", objective, seed)
        text = json.dumps(metrics(identity, found, Path(data)))
        self.write(f"metrics/{objective}/{seed}.json", text.encode())
        self.write(f"scores/{objective}/{seed}.npz", scores_archive(found))
        if curve is not None:
            self.write(f"curves/{objective}/{seed}.csv", curve.encode())

    def write(self, name: str, content: bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def compare(self, *more: str, out: str = "results", resamples: int = 200) -> int:
        folders = [
            text
            for name in ("metrics", "scores", "curves")
            for text in (f"--{name}", str(self.folder / name))
        ]
        bootstrap = ["--resamples", str(resamples), "--bootstrap-seed", "1"]
        return main([*folders, "--out", str(self.folder / out), *bootstrap, *more])

    def json(self, name: str = "comparison") -> Any:
        path = self.folder / "results" / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8"))

    def markdown(self) -> str:
        return (self.folder / "results" / "comparison.md").read_text(encoding="utf-8")

    def table_column(self, column: int = 0) -> list[str]:
        """Cells of the first table's column, below its header."""
        table = self.markdown().split("\n\n")[1].splitlines()[2:]
        return [line.split("|")[column + 1].strip() for line in table]


@pytest.fixture
def drawing_project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def project(drawing_project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Without the pictures, which take a second."""
    monkeypatch.setattr("pipeline.compare.image", lambda *_: b"")
    return drawing_project


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
        assert message.endswith("mhe/42.json is missing; run pipeline.evaluate first.\n")

    def test_columns_are_the_tasks_that_ran_and_their_average(self, project: Project) -> None:
        project.add("info_nce", tasks={"STS12": 100, "STS-B": 50})
        project.compare()
        header = project.markdown().split("\n\n")[1].splitlines()[0]
        assert header == "| objective | seeds | STS12 | STS-B | avg |"
        scores = project.json()["objectives"]["info_nce"]["scores"]
        expected = (scores["STS12"]["mean"] + scores["STS-B"]["mean"]) / 2
        assert scores["avg"]["mean"] == close(expected)

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

    def test_one_seed_has_no_deviation_and_says_so(self, project: Project) -> None:
        project.add("info_nce")
        project.compare()
        assert project.json()["objectives"]["info_nce"]["scores"]["avg"]["deviation"] is None
        assert project.table_column(1) == ["n = 1"]
        assert "±" not in project.table_column(2)[0]

    def test_the_difference_is_that_of_the_rows_above_it(self, project: Project) -> None:
        project.add("vicreg", noise=4)
        project.add("vicreg_modified", noise=1)
        project.compare()
        before, after, difference = (float(cell.strip("*")) for cell in project.table_column(2))
        assert difference == pytest.approx(after - before, abs=0.011)  # two digits are shown
        assert difference > 0

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
        assert "Measured on `sample`; avg of 1: STS-B." in caption
        assert "Missing, as their data was not there: STS12, STS13, STS14" in caption

    def test_the_sample_must_not_be_put_beside_published_numbers(self, project: Project) -> None:
        project.add("info_nce")
        project.compare()
        assert "(STS-B 300 pairs instead of 1,379): the numbers must not" in project.markdown()
        assert project.json()["comparable_to_published"] is False

    def test_the_published_test_sets_need_no_warning(self, project: Project) -> None:
        project.add("info_nce", tasks=PUBLISHED_PAIRS, data="senteval")
        project.compare()
        assert "Measured on `senteval`; avg of seven." in project.markdown()
        assert "must not" not in project.markdown()
        assert "Missing" not in project.markdown()


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

    @pytest.mark.parametrize(
        ("low", "high", "words"),
        [(-1, 2, "holds zero"), (1, 2, "modified is better"), (-2, -1, "modified is worse")],
    )
    def test_an_interval_reads_as_words(self, low: float, high: float, words: str) -> None:
        assert reading(Interval((low + high) / 2, low, high)).startswith(words)

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
        assert "| `vicreg` | 61.50 ± 0.00 | 59.25 ± 1.41 | -2.25 |" in project.markdown()

    def test_without_curves_there_is_no_table_of_dev_scores(self, project: Project) -> None:
        project.add("vicreg", curve=None)
        project.compare()
        assert "last - best" not in project.markdown()

    def test_the_plot_is_written_as_svg_and_png(self, drawing_project: Project) -> None:
        drawing_project.add("vicreg")
        drawing_project.add("vicreg_modified")
        drawing_project.compare()
        folder = drawing_project.folder / "results"
        root = ET.fromstring((folder / "curves.svg").read_bytes())
        assert root.tag.endswith("svg")
        assert (folder / "curves.png").read_bytes().startswith(b"\x89PNG")

    def test_an_encoder_without_a_curve_is_named(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        project.add("info_nce", curve=None)
        assert project.compare() == 0
        assert project.json("curves") == []
        assert "for info_nce-1." in capsys.readouterr().out


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


class TestExitCode1WithOneSentence:
    def refused(
        self, project: Project, capsys: pytest.CaptureFixture[str], resamples: int = 200
    ) -> str:
        assert project.compare(resamples=resamples) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        assert not (project.folder / "results").exists()
        return captured.err

    def test_for_no_metrics(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        sentence = self.refused(project, capsys)
        assert "holds no <objective>/<seed>.json; run pipeline.evaluate first" in sentence

    def test_for_no_resamples(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        project.add("info_nce")
        assert "bootstrap: 0 resamples" in self.refused(project, capsys, resamples=0)

    def test_for_other_tasks(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        project.add("info_nce")
        project.add("vicreg", tasks={"STS-B": 300, "STS12": 20})
        assert "evaluate all encoders on the same tasks" in self.refused(project, capsys)

    def test_for_other_data(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        project.add("info_nce")
        project.add("vicreg", data="senteval")
        assert "has data senteval, info_nce/1 has sample" in self.refused(project, capsys)

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("metrics/mhe/best.json", b"{}"),
            ("metrics/mhe/1.json", b"{"),
            ("metrics/mhe/1.json", b"[]"),
            ("metrics/mhe/1.json", b'{"sts": {}}'),
        ],
    )
    def test_for_metrics_that_cannot_be_read(
        self,
        project: Project,
        capsys: pytest.CaptureFixture[str],
        name: str,
        content: bytes,
    ) -> None:
        project.write(name, content)
        sentence = self.refused(project, capsys)
        assert f"{Path(name).name} is not <objective>/<seed>.json as" in sentence

    def test_for_metrics_in_another_encoders_place(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        project.add("vicreg")
        (project.folder / "metrics" / "vicreg").rename(project.folder / "metrics" / "mhe")
        assert "was measured on vicreg-1" in self.refused(project, capsys)

    def test_for_missing_scores(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        project.add("vicreg")
        project.add("vicreg_modified")
        (project.folder / "scores" / "vicreg" / "1.npz").unlink()
        assert "has no scores of STS-B" in self.refused(project, capsys)

    def test_for_scores_of_another_run(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        project.add("vicreg")
        project.add("vicreg_modified")
        stale = scores_archive(result({"STS-B": 300}, 3, 1))
        project.write("scores/vicreg/1.npz", stale)
        assert "evaluate the encoder again to write both" in self.refused(project, capsys)

    def test_for_other_gold_scores(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Gold twice as large has the same ranks and scores, but is not the same data."""
        project.add("vicreg")
        project.add("vicreg_modified")
        path = project.folder / "scores" / "vicreg" / "1.npz"
        with np.load(path) as archive:
            changed = {
                "STS-B/cosine": archive["STS-B/cosine"],
                "STS-B/gold": 2 * archive["STS-B/gold"],
            }
        np.savez(path, allow_pickle=False, **changed)
        assert "has other gold scores than vicreg/1" in self.refused(project, capsys)

    @pytest.mark.parametrize(
        ("curve", "message"),
        [
            ("step,dev_spearman\n0,high\n", "line 2: step and dev_spearman must be numbers"),
            ("step,dev_spearman\n0,1\n5,nan\n", "line 3: step and dev_spearman"),
            ("step,loss\n0,1\n", "line 2: step and dev_spearman"),
            ("step,dev_spearman\n", "holds no step"),
        ],
    )
    def test_for_a_curve_that_cannot_be_read(
        self, project: Project, capsys: pytest.CaptureFixture[str], curve: str, message: str
    ) -> None:
        project.add("info_nce", curve=curve)
        assert message in self.refused(project, capsys)
