"""The compare stage: order and arithmetic of its tables, what it says in words, what it refuses."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.compare import main
from pipeline.comparison.bootstrap import Interval
from pipeline.comparison.tables import reading
from pipeline.metrics import Measured, metrics, scores_archive
from pipeline.senteval.benchmark import Result
from pipeline.senteval.sts import STS_TASKS, StsResult, SubsetScore, TaskScore, spearman
from pipeline.senteval.transfer import TransferResult, TransferScore
from pipeline.senteval.transfer_readers import TRANSFER_TASKS
from tests.tiny import change_json

if TYPE_CHECKING:
    from pipeline.senteval.classifier import ClassifierName, SettingName
    from pipeline.senteval.known import Label

close = partial(pytest.approx, rel=0, abs=1e-6)  # what is written has six digits
CURVE = "step,dev_spearman,loss\n0,50.0,3.1\n50,61.5,2.2\n100,60.25,2.0\n"


def result(tasks: dict[str, int], noise: float, seed: int, label: Label = "other") -> StsResult:
    """Cosines that follow gold up to noise of its own, on tasks with so many pairs."""
    scores = []
    for task, pairs in tasks.items():
        gold = np.random.default_rng(pairs).integers(0, 6, pairs).astype(float)
        draw = np.random.default_rng([seed, pairs, round(100 * noise)])
        cosine = gold + noise * draw.normal(size=pairs)
        score = spearman(cosine, gold)
        subsets = {"test": SubsetScore(score, pairs)}
        scores.append(TaskScore(task, score, score, subsets, cosine, gold, label))
    return StsResult(tuple(scores), tuple(task for task in STS_TASKS if task not in tasks))


def transfer_result(accuracies: dict[str, float], label: Label = "other") -> TransferResult:
    scores = [
        TransferScore(task, accuracy, 50.0, None, (1e-5,), {"all": 400}, label, 1.0, 1.0)
        for task, accuracy in accuracies.items()
    ]
    missing = [task for task in TRANSFER_TASKS if task not in accuracies]
    return TransferResult(tuple(scores), tuple(missing) if accuracies else ())


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
        transfer: dict[str, float] | None = None,
        setting: SettingName = "fast",
        classifier: ClassifierName = "mlp",
        data: str = "sample",
        label: Label = "other",
        curve: str | None = CURVE,
    ) -> None:
        found = result({"STS-B": 300} if tasks is None else tasks, noise, seed, label)
        accuracies = transfer_result(transfer or {}, label)
        both = Result(found, accuracies, setting, classifier)
        measured = Measured(f"{objective}-{seed}", "abc", objective, seed)
        text = json.dumps(metrics(measured, both, Path(data)))
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
            ["`vicreg`", "n = 2", "61.00 ± 1.41", "61.00 ± 1.41"],
            ["`vicreg_modified`", "n = 1", "64.00", "64.00"],
            ["*modified - original*", "", "*+3.00*", "*+3.00*"],
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
        project.add("info_nce", transfer={"MR": 70.0}, setting="test", classifier="logistic")
        project.compare()
        assert "Setting `test`, classifier `logistic`." in project.markdown()
        found = project.json()["transfer"]
        assert (found["setting"], found["classifier"]) == ("test", "logistic")
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

    def test_without_transfer_results_there_is_no_table(self, project: Project) -> None:
        project.add("info_nce")
        project.compare()
        assert "Accuracy" not in project.markdown()
        assert "transfer" not in project.json()

    def test_transfer_results_alone_are_compared_without_scores_or_intervals(
        self, project: Project
    ) -> None:
        for objective, accuracy in (("vicreg", 60.0), ("vicreg_modified", 61.0)):
            project.add(objective, tasks={}, transfer={"MR": accuracy})
            (project.folder / "scores" / objective / "1.npz").unlink()
        assert project.compare() == 0
        assert "Spearman" not in project.markdown()
        assert {"objectives", "pairs", "average_label", "twins"}.isdisjoint(project.json())
        assert project.json()["transfer"]["differences"]["vicreg_modified"]["MR"] == 1.0
        assert list(project.json()["dev"]) == ["vicreg", "vicreg_modified"]


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
        ("other", "message"),
        [
            ({"setting": "test"}, "has setting test, info_nce/1 has fast"),
            ({"classifier": "logistic"}, "has classifier logistic, info_nce/1 has mlp"),
            ({"label": "benchmark"}, "'MR': 'benchmark'}, info_nce/1 has {"),
            ({"transfer": {"TREC": 1.0}}, "has tasks STS-B, TREC, info_nce/1 has STS-B, MR"),
            ({"transfer": {}}, "has tasks STS-B, info_nce/1 has STS-B, MR"),
        ],
    )
    def test_for_transfer_tasks_that_were_measured_otherwise(
        self,
        project: Project,
        capsys: pytest.CaptureFixture[str],
        other: dict[str, Any],
        message: str,
    ) -> None:
        project.add("info_nce", transfer={"MR": 1.0})
        project.add("vicreg", **({"transfer": {"MR": 2.0}} | other))
        sentence = self.refused(project, capsys)
        assert message in sentence
        assert "of the same data, with the same setting and classifier" in sentence

    def test_for_metrics_from_before_labels(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        project.add("mhe")
        path = project.folder / "metrics" / "mhe" / "1.json"
        content = json.loads(path.read_text(encoding="utf-8"))
        del content["sts"]["STS-B"]["label"]
        path.write_text(json.dumps(content), encoding="utf-8")
        assert "(it lacks 'label'); evaluate the encoder again" in self.refused(project, capsys)

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

    @pytest.mark.parametrize("kept", [0, 10, 500, 3000])
    def test_for_scores_that_are_cut_short(
        self, project: Project, capsys: pytest.CaptureFixture[str], kept: int
    ) -> None:
        project.add("vicreg")
        project.add("vicreg_modified")
        path = project.folder / "scores" / "vicreg" / "1.npz"
        path.write_bytes(path.read_bytes()[:kept])
        assert "vicreg/1.npz has no scores of STS-B that can be" in self.refused(project, capsys)

    @settings(
        max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(place=st.integers(0, 5_500))
    def test_for_scores_with_a_flipped_bit_or_not_at_all(
        self, project: Project, capsys: pytest.CaptureFixture[str], place: int
    ) -> None:
        """Some bits of the format mean nothing; no other way out than these two."""
        project.add("vicreg")
        project.add("vicreg_modified")
        path = project.folder / "scores" / "vicreg" / "1.npz"
        content = bytearray(path.read_bytes())
        content[place % len(content)] ^= 4
        path.write_bytes(content)
        assert project.compare() in (0, 1)

    @pytest.mark.parametrize(
        ("cosine", "gold", "message"),
        [
            ([0.1, 0.2], [1.0], "cosine has shape (2,), gold (1,)"),
            ([[0.1]], [[1.0]], "cosine has shape (1, 1), gold (1, 1)"),
            ([float("nan"), 0.2], [1.0, 2.0], "a cosine or gold score is not finite"),
            (["a", "b"], [1.0, 2.0], "has no scores of STS-B that can be read"),
        ],
    )
    def test_for_scores_that_are_no_pairs(
        self,
        project: Project,
        capsys: pytest.CaptureFixture[str],
        cosine: list[Any],
        gold: list[Any],
        message: str,
    ) -> None:
        project.add("vicreg")
        project.add("vicreg_modified")
        arrays = {"STS-B/cosine": np.array(cosine), "STS-B/gold": np.array(gold)}
        np.savez(
            project.folder / "scores" / "vicreg" / "1.npz",
            allow_pickle=False,
            **arrays,
        )
        assert message in self.refused(project, capsys)

    @pytest.mark.parametrize("objective", [[1], {"a": 1}, 7])
    def test_for_an_objective_that_is_no_name(
        self, project: Project, capsys: pytest.CaptureFixture[str], objective: object
    ) -> None:
        project.add("mhe")
        change_json(project.folder / "metrics" / "mhe" / "1.json", objective=objective)
        assert "mhe/1.json was measured on" in self.refused(project, capsys)

    def test_for_scores_in_the_metrics_that_are_not_finite(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        project.add("mhe", transfer={"MR": float("inf")})
        assert "transfer holds scores that are not finite" in self.refused(project, capsys)

    @pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"step,dev_spearman\n1,\x80\n"])
    def test_for_a_curve_that_is_no_text(
        self, project: Project, capsys: pytest.CaptureFixture[str], content: bytes
    ) -> None:
        project.add("mhe")
        project.write("curves/mhe/1.csv", content)
        assert "mhe/1.csv is no CSV text" in self.refused(project, capsys)

    def test_for_a_place_that_cannot_be_written_before_anything_is_read(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        project.write("file", b"")
        assert project.compare(out="file") == 1
        assert "comparison.md cannot be written, as" in capsys.readouterr().err

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
