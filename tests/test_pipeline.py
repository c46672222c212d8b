"""`dvc repro` from end to end, in a copy of the project with a handful of steps a run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PARTS = (
    "analysis/dvc.yaml",
    "backbones",
    "conf",
    "data/sample",
    "dvc.yaml",
    "params.yaml",
    "pipeline",
)
NAMES = ("vicreg", "vicreg_modified")
PAIRS = 250  # that are scored: all 1,750 take most of the time


class Project:
    """A git and DVC repository of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            command,
            cwd=self.folder,
            env=os.environ | {"PATH": path, "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    def done(self, *command: str) -> str:
        finished = self.run(*command)
        assert finished.returncode == 0, finished.stdout + finished.stderr
        return finished.stdout

    def repro(self) -> list[str]:
        """The stages that ran."""
        lines = self.done("dvc", "repro").splitlines()
        return [line.split("'")[1] for line in lines if line.startswith("Running stage '")]

    def set(self, **changes: object) -> None:
        """Change dotted keys of params.yaml."""
        path = self.folder / "params.yaml"
        params = yaml.safe_load(path.read_text(encoding="utf-8"))
        for dotted, value in changes.items():
            *sections, key = dotted.split("__")
            place = params
            for section in sections:
                place = place[section]
            place[key] = value
        path.write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")

    def shorten(self, table: str, rows: int) -> None:
        """Leave a table's header and so many rows, spread over it."""
        path = self.folder / table
        header, *lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join([header, *lines[:: len(lines) // rows][:rows]]), encoding="utf-8")

    def restore(self) -> None:
        """As the last commit left it."""
        self.done("git", "checkout", "--quiet", ".")
        self.done("dvc", "checkout")
        assert "Data and pipelines are up to date." in self.done("dvc", "repro")


def make_project(folder: Path) -> Project:
    """Before its first commit."""
    project = Project(folder)
    for part in PARTS:
        source, target = ROOT / part, project.folder / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    project.done("git", "init", "--quiet")
    project.done("git", "config", "user.email", "triad@example.org")
    project.done("git", "config", "user.name", "Triad")
    project.done("dvc", "init", "--quiet")
    shutil.copy(ROOT / ".dvc" / "config", project.folder / ".dvc" / "config")
    for ignored in (".gitignore", ".dvcignore"):
        shutil.copy(ROOT / ignored, project.folder / ignored)
    return project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = make_project(tmp_path_factory.mktemp("project"))
    project.shorten("data/sample/stsb_captions.tsv", PAIRS)
    project.set(
        runs__objectives=list(NAMES),
        train__steps=4,
        train__evaluate_every=2,
        train__batch_size=8,
    )
    project.repro()
    project.done("git", "add", "--all")
    project.done("git", "commit", "--quiet", "--message", "First run")
    return project


def test_every_stage_leaves_what_it_promises(project: Project) -> None:
    untrained = json.loads((project.folder / "metrics/untrained.json").read_text("utf-8"))
    for name in NAMES:
        assert (project.folder / f"models/{name}/42/model.safetensors").is_file()
        record = json.loads((project.folder / f"models/{name}/42/triad.json").read_text("utf-8"))
        assert record["objective"] == name
        assert [row["step"] for row in record["curve"]] == [0, 1, 2, 4]
        assert record["curve"][0]["dev_spearman"] == pytest.approx(untrained["dev_spearman"])
    table = (project.folder / "results/comparison.md").read_text("utf-8")
    assert all(f"| `{name}` |" in table for name in ("untrained", *NAMES))
    assert "must not be put beside published ones" in table


@pytest.mark.verify
def test_dvc_shows_metrics_and_plots(project: Project) -> None:
    assert "metrics/vicreg_modified/42.json" in project.done("dvc", "metrics", "show")
    plots = json.loads(project.done("dvc", "plots", "show", "--json"))["data"]
    assert any("dev Spearman" in name for name in plots)


@pytest.mark.verify
def test_a_version_of_a_model_is_a_git_tag(project: Project) -> None:
    project.done("dvc", "remote", "add", "--default", "team", str(project.folder.parent / "team"))
    project.done("dvc", "push")
    project.done("git", "tag", "-a", "vicreg-modified-42@v1.0.0", "-m", "First release")
    project.done("dvc", "artifacts", "get", ".", "vicreg-modified-42", "--out", "pinned")
    assert (project.folder / "pinned" / "modules.json").is_file()
    shutil.rmtree(project.folder / "pinned")
    project.done("git", "checkout", "--quiet", ".")


def test_a_changed_hyperparameter_retrains_its_own_objective_only(project: Project) -> None:
    project.set(objectives__vicreg_modified__margin=0.4)
    train, evaluate = "train@vicreg_modified-42", "evaluate@vicreg_modified-42"
    assert project.repro() == ["check", train, evaluate, "compare"]
    project.restore()  # which runs nothing


@pytest.mark.verify
def test_an_experiment_is_one_command(project: Project) -> None:
    """Its graded pairs have a space in their name."""
    pairs = project.folder / "data/sample/stsb_captions.tsv"
    shutil.copy(pairs, project.folder / "data/my pairs.tsv")
    project.done(
        "dvc", "exp", "run", "--name", "another", "-S", "train.steps=4", "-S",
        "train.evaluate_every=2", "-S", "train.batch_size=8", "-S", "runs.objectives=[mpt]",
        "-S", "evaluate.data='data/my pairs.tsv'", "-S", "train.dev='data/my pairs.tsv'",
        "-S", "train.keep=best",
    )  # fmt: skip
    assert (project.folder / "metrics/mpt/42.json").is_file()
    assert "| `mpt` |" in (project.folder / "results/comparison.md").read_text("utf-8")
    assert "another" in project.done("dvc", "exp", "list")
    project.done("git", "clean", "--quiet", "--force", "-d")
    project.restore()


# One of the settings alone, and one that a stage would find; the others: tests/test_check.py.
MISTAKES = {
    "train.learning_rate: expected a number": {"train__learning_rate": "3e-5"},
    "absent.txt": {"corpus__source": "data/absent.txt", "corpus__watch": "params.yaml"},
}


@pytest.mark.verify
@pytest.mark.parametrize(("message", "change"), MISTAKES.items())
def test_a_mistake_in_params_is_one_sentence_and_costs_no_file(
    project: Project, message: str, change: dict[str, object]
) -> None:
    project.set(**change)
    failed = project.run("dvc", "repro")
    assert failed.returncode != 0
    assert message in failed.stdout + failed.stderr
    assert "Traceback" not in failed.stdout + failed.stderr
    assert project.done("git", "status", "--porcelain").split() == ["M", "params.yaml"]
    project.restore()


@pytest.mark.verify
def test_a_refused_experiment_costs_no_file(project: Project) -> None:
    failed = project.run("dvc", "exp", "run", "-S", "compare.resamples=50")
    assert "check: params.yaml: 1 problem:" in failed.stderr
    assert project.done("git", "status", "--porcelain").split() == ["M", "params.yaml"]
    project.restore()


STUDIED = ("paradigm", "paradigm_open")


def repro_analysis(project: Project) -> list[str]:
    """The stages of `make report` that ran."""
    lines = project.done("dvc", "repro", "analysis/dvc.yaml").splitlines()
    return [line.split("'")[1].split(":")[-1] for line in lines if line.startswith("Running")]


@pytest.fixture(scope="module")
def reported(project: Project) -> Project:
    project.set(
        analysis__objectives=list(STUDIED),
        analysis__steps=4,
        analysis__evaluate_every=2,
        analysis__record_every=1,
        analysis__simulation__grid=4,
        analysis__simulation__batches=128,
    )
    assert "report" in repro_analysis(project)
    return project


@pytest.mark.verify
class TestAnalysis:
    """A pipeline of its own."""

    def test_the_report_stands_beside_the_main_runs(self, reported: Project) -> None:
        results = reported.folder / "results/analysis"
        page = (results / "report.html").read_text("utf-8")
        assert "Conjecture 1, dissipation" in page
        assert 'src="data:image/svg+xml' in page
        for kind in ("curves", "dynamics", "metrics", "held_out"):
            folders = sorted(path.name for path in (results / "study" / kind).iterdir())
            assert folders == sorted(STUDIED)

    def test_the_main_runs_alone_are_up_to_date_without_it(self, reported: Project) -> None:
        assert reported.repro() == []

    def test_an_unchanged_analysis_runs_nothing(self, reported: Project) -> None:
        assert repro_analysis(reported) == []

    def test_another_objective_is_trained_and_the_others_are_not(self, reported: Project) -> None:
        reported.set(analysis__objectives=[*STUDIED, "mpt"])
        ran = ["check", "study@mpt-42", "score@mpt-42", "measure@mpt-42", "report"]
        assert sorted(repro_analysis(reported)) == sorted(ran)
        text = (reported.folder / "results/analysis/report.md").read_text("utf-8")
        assert "`mpt`" in text
