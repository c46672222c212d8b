"""The report: one page that asks nobody for anything, whose numbers come from files."""

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from pipeline.paper.figure import Figure, write_figures
from pipeline.paper.report.page import as_page
from pipeline.report import main
from pipeline.results.figures import panels
from tests.paper.report.written_study import OBJECTIVES, WrittenStudy
from tests.tiny import ROOT, Refused, contents

NAMES = ("dissipation", "hardest_share", "ratio", "lemma")
STUDY_FIGURES = {
    "ablation",
    "angles",
    "before_and_after",
    "cosine_density",
    "dynamic_ratios",
    "hardest_share",
    "minimum_ratio",
    "positive_cosine",
    "sweeps",
}


class Project:
    """What the stages before the report leave."""

    def __init__(self, folder: Path, seeds: tuple[int, ...] = (1, 2)) -> None:
        self.out = folder / "results" / "analysis"
        self.study = WrittenStudy(self.out / "study", seeds)
        data = {"ratio": {"met": [[1.5, 3, 1]]}, "unvisited": {"met": [[0, 0, 1]]}}
        simulated = [
            Figure(name, f"Simulated {name}", "A caption.", {}, data, panels()[0]) for name in NAMES
        ]
        write_figures(self.out / "simulation", simulated)
        for name in ("comparison.json", "comparison.md"):
            shutil.copy(ROOT / "results" / name, self.out.parent / name)

    def run(self) -> int:
        folders = {
            "params": self.study.params,
            "simulation": self.out / "simulation",
            "study": self.study.folder,
            "results": self.out.parent,
            "out": self.out,
        }
        return main([text for key, value in folders.items() for text in (f"--{key}", str(value))])

    @property
    def markdown(self) -> str:
        return (self.out / "report.md").read_text(encoding="utf-8")

    @property
    def page(self) -> str:
        return (self.out / "report.html").read_text(encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The report of a complete study; it may only be written again."""
    whole = Project(tmp_path_factory.mktemp("reported"))
    whole.study.add_all()
    assert whole.run() == 0
    return whole


class Asked(HTMLParser):
    """Addresses that a browser would ask for, alternative texts, headings."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.pictures: list[str] = []
        self.tables = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.addresses += [given[key] or "" for key in ("src", "href", "srcset") if key in given]
        if tag == "img":
            self.pictures.append(given.get("alt") or "")
        self.tables += tag == "table"
        assert tag not in ("script", "link", "iframe")


def test_the_page_holds_all_that_it_shows(reported: Project) -> None:
    asked = Asked(reported.page)
    assert len(asked.pictures) == len(NAMES) + len(STUDY_FIGURES)
    assert all(asked.pictures)
    assert all(address.startswith("data:image/svg+xml;base64,") for address in asked.addresses)
    assert asked.tables >= 6
    assert "url(" not in reported.page
    assert "@import" not in reported.page


def test_every_figure_is_a_picture_in_two_formats_with_its_numbers(reported: Project) -> None:
    files = set(contents(reported.out / "figures"))
    assert files == {f"{name}.{kind}" for name in STUDY_FIGURES for kind in ("json", "png", "svg")}
    for name in STUDY_FIGURES:
        told: dict[str, Any] = json.loads((reported.out / f"figures/{name}.json").read_bytes())
        assert told.keys() == {"title", "caption", "settings", "data"}
        assert told["data"]
        assert "{" not in told["caption"]
        assert f"> **{told['title']}.** {told['caption']}" in reported.markdown


def test_the_text_goes_from_the_question_to_the_evidence(reported: Project) -> None:
    heads = re.findall(r"^#+ (.*)$", reported.markdown, flags=re.MULTILINE)
    assert heads == [
        "Why the three components matter",
        "What was run",
        "What angles alone tell",
        "The three conjectures, on encoders",
        "Conjecture 1, dissipation: undecided",
        "Conjecture 2, weight: holds",
        "Conjecture 3, ratio: undecided",
        "Over the training steps",
        "Sweeps",
        "Ablation (Table 5)",
        "The main runs (Tables 2 and 4, Figure 1)",
        "What each convention changes",
        "How to make it again",
    ]
    assert "Hardware: an abacus." in reported.markdown
    assert "training visits, 50% have a ratio of `met` from 1 to 2." in reported.markdown
    assert "Seeds: 1, 2 for `paradigm`" in reported.markdown
    comparison = (reported.out.parent / "comparison.md").read_text(encoding="utf-8")
    assert comparison.strip() in reported.markdown


def test_a_study_that_is_not_complete_says_so_and_claims_nothing_more(project: Project) -> None:
    project.study.add("vicreg", 1)
    assert project.run() == 0
    lacking = 2 * len(OBJECTIVES) - 1
    assert f"**Not run ({lacking} of the cells" in project.markdown
    assert project.markdown.count(": not measured") == 3
    assert "It needs runs of paradigm and paradigm_open;" in project.markdown
    assert "## Sweeps" not in project.markdown


def test_one_seed_is_told_as_what_it_is(tmp_path: Path) -> None:
    """The gap is 0.7 with dissipation and 0.8 without."""
    project = Project(tmp_path, seeds=(1,))
    project.study.add("paradigm", 1)
    project.study.add("paradigm_open", 1, cosines=(0.9, 0.1))
    assert project.run() == 0
    assert "dissipation: undecided\n" in project.markdown
    assert "It is +0.100 in the one seed that was run. One seed leaves it undecided." in (
        project.markdown
    )
    assert "one of 15 negatives" in project.markdown


def test_equal_inputs_give_equal_bytes(reported: Project) -> None:
    first = contents(reported.out)
    reported.run()
    assert contents(reported.out) == first


def test_a_study_without_runs_is_refused(project: Project, refused: Refused) -> None:
    assert re.fullmatch(r"report: study: .* holds no run; .*\n", refused(project.run()))
    assert not (project.out / "report.html").exists()


def test_a_missing_comparison_is_refused(project: Project, refused: Refused) -> None:
    project.study.add_all()
    (project.out.parent / "comparison.json").unlink()
    assert "comparison.json cannot be read" in refused(project.run())


def test_a_missing_simulation_is_refused(project: Project, refused: Refused) -> None:
    project.study.add_all()
    shutil.rmtree(project.out / "simulation")
    assert "ratio.json cannot be read" in refused(project.run())


def test_markup_in_a_name_is_text(tmp_path: Path) -> None:
    page = as_page("# a < b <script>alert(1)</script>\n\ntext", tmp_path)
    assert "<script>" not in page
    assert "<title>a &lt; b &lt;script&gt;" in page
