"""README and docs say what the files say: tables are results, code runs, links lead somewhere."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.serve import markdown
from pipeline import reproduction
from pipeline.objectives import OBJECTIVES
from pipeline.results.names import MODIFIED

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    *sorted(f"docs/{page.name}" for page in ROOT.glob("docs/*.md")),
]
# Pages that no reader begins with; their links are followed as well.
BESIDE = ["backbones/README.md", "data/sample/README.md", "results/wiki/README.md"]


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


README = text_of("README.md")


def quotes(page: str) -> list[tuple[str, str, str]]:
    """The files that a page quotes, which part of each, and what it shows.

    `<!-- FILE -->` quotes all of it, `<!-- FILE: part -->` a part.
    """
    found = re.findall(
        r"<!-- (\S+\.md)(?:: ([\w ]+))? -->\n(.*?)<!-- end -->", text_of(page), re.DOTALL
    )
    return [(file, part, shown.strip()) for file, part, shown in found]


QUOTES = [(page, *quote) for page in PAGES for quote in quotes(page)]


def first_table(text: str) -> str:
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("|"))
    last = next((i for i, line in enumerate(lines) if i > first and line[:1] != "|"), len(lines))
    return "\n".join(lines[first:last])


def test_a_reader_gets_through_the_readme() -> None:
    assert len(README.encode()) <= 9_000
    assert len(README.splitlines()) <= 220


def test_the_default_run_the_real_run_and_the_speeds_are_shown() -> None:
    assert {(page, file, part) for page, file, part, _ in QUOTES} == {
        ("README.md", "results/comparison.md", "first table"),
        ("README.md", "results/wiki/reproduction.md", "first table"),
        ("docs/paper.md", "results/wiki/analysis/report.md", "a table"),
        ("docs/results.md", "results/comparison.md", ""),
        ("docs/results.md", "results/serving/speed.md", ""),
        ("docs/results.md", "results/training/cpu.md", ""),
        ("docs/results.md", "results/wiki/reproduction.md", "a table"),
    }


@pytest.mark.parametrize(
    ("file", "part", "shown"),
    [quote[1:] for quote in QUOTES],
    ids=[f"{page} {file} {index}" for index, (page, file, *_) in enumerate(QUOTES)],
)
def test_a_table_is_the_committed_file(file: str, part: str, shown: str) -> None:
    committed = text_of(file)
    if part == "a table":
        assert shown in committed
    else:
        assert shown == (first_table(committed) if part else committed.strip())


REPRODUCTION = json.loads(text_of("results/wiki/reproduction.json"))


@pytest.mark.parametrize("name", ["vicreg", "vicreg_modified"])
def test_the_readme_tells_the_last_step_of_the_reproduction(name: str) -> None:
    average = REPRODUCTION["last"]["objectives"][name]["scores"]["avg"]["mean"]
    assert f"{average:.2f}" in README.partition("## Who it is for")[0]


@pytest.mark.parametrize("name", ["siglip", "siglip_repaired"])
def test_the_readme_tells_the_last_step_of_a_repaired_loss(name: str) -> None:
    table = text_of("results/wiki/reproduction.md").partition("## Repaired losses")[2]
    (row,) = re.findall(rf"^\| `{name}` \| n = 3 \| (.+?) \|", table, re.MULTILINE)
    assert row in README.partition("## The result")[2].partition("## Contents")[0]


@pytest.mark.parametrize("name", ["vicreg", "vicreg_modified"])
def test_the_reference_encoders_are_a_replicate(name: str) -> None:
    average = json.loads(text_of(f"encoders/reference/{name}.json"))["average"]
    shown = re.sub(r"\s+", " ", text_of("docs/results.md"))
    assert f"`{name}-reference` averages {average:.2f}" in shown


@pytest.mark.parametrize("name", MODIFIED)
def test_an_original_is_best_at_the_step_that_the_readme_says(name: str) -> None:
    record = json.loads(text_of(f"results/wiki/runs/3.0e-4/records/{name}/42.json"))
    assert f"step {record['best']['step']} of {record['steps']}" in re.sub(r"\s+", " ", README)


@pytest.mark.parametrize(("original", "modified"), MODIFIED.items())
def test_the_intervals_of_the_last_step_exclude_zero(original: str, modified: str) -> None:
    (found,) = (
        one["tasks"]["avg"]
        for one in REPRODUCTION["last"]["differences"]
        if (one["objective"], one["reference"]) == (modified, original)
    )
    assert found["low"] > 0


def test_the_tables_of_the_reproduction_are_made_of_what_is_committed(tmp_path: Path) -> None:
    options = ["--runs", str(ROOT / "results/wiki/runs"), "--rate", REPRODUCTION["rate"]]
    assert reproduction.main([*options, "--out", str(tmp_path)]) == 0
    for name in ("reproduction.md", "reproduction.json"):
        assert (tmp_path / name).read_bytes() == (ROOT / "results/wiki" / name).read_bytes()


def test_the_default_runs_difference_is_told_with_its_interval() -> None:
    (found,) = (
        one["tasks"]["avg"]
        for one in json.loads(text_of("results/comparison.json"))["differences"]
        if (one["objective"], one["reference"]) == ("vicreg_modified", "vicreg")
    )
    assert f"{found['difference']:.2f} points above the original" in README
    assert f"interval: {found['low']:.2f} to {found['high']:.2f})" in README


def row_cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_services_speed_is_what_was_measured() -> None:
    measured = json.loads(text_of("results/serving/speed.json"))
    assert text_of("results/serving/speed.md") == markdown(measured)


def test_the_table_of_conventions_has_all_six_runs() -> None:
    (shown,) = (shown for page, *_, shown in QUOTES if page == "docs/paper.md")
    assert shown.count("\n| `vicreg_modified") == 6


def anchors(page: Path) -> set[str]:
    """The anchors of a page's titles, as GitHub makes them."""
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", [*PAGES, *BESIDE])
def test_links_lead_somewhere(page: str) -> None:
    prose = re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"\w+:", target):
            continue
        file, _, anchor = target.partition("#")
        other = (ROOT / page).parent / file if file else ROOT / page
        assert other.exists(), target
        assert not anchor or anchor in anchors(other), target


def test_every_page_of_the_docs_is_in_the_readme_and_in_the_index() -> None:
    for page in PAGES[1:]:
        assert f"]({page})" in README, page
        name = page.removeprefix("docs/")
        assert name == "README.md" or f"{name})" in text_of("docs/README.md"), page


@pytest.mark.parametrize(
    "name",
    [n for n in OBJECTIVES if "_dissipation" not in n and not n.endswith(("norm", "centred"))],
)
def test_every_objective_stands_in_the_table(name: str) -> None:
    assert f"| `{name}` |" in text_of("docs/objectives.md")


def snippet(page: str, word: str) -> str:
    """A page's Python that holds a word."""
    snippets = re.findall(r"```python\n(.*?)```", text_of(page), re.DOTALL)
    (found,) = (str(snippet) for snippet in snippets if word in snippet)
    return found


def test_the_five_lines_load_embed_and_compare(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    code = snippet("README.md", "SentenceEncoder")
    assert len([line for line in code.splitlines() if line]) <= 5
    exec(code, {})
    assert -1 <= float(capsys.readouterr().out) <= 1


def test_the_objective_alone_is_one_import() -> None:
    import torch  # noqa: PLC0415 - as the snippet's reader would have it

    anchor, positive = torch.randn(4, 8), torch.randn(4, 8)
    scope = {"anchor": anchor, "positive": positive}
    exec(snippet("docs/objectives.md", "import OBJECTIVES"), scope)
    assert scope["weight"].shape == (4, 4)


def test_any_model_is_measured_in_three_lines(capsys: pytest.CaptureFixture[str]) -> None:
    code = snippet("docs/training.md", "import evaluate")
    code = code.replace("SentEval/data/downstream", str(ROOT / "tests/sample"))
    code = code.replace('sample")', 'sample", setting="fast")')
    assert len([line for line in code.splitlines() if line]) <= 3
    exec(code, {"encode": letters})
    sts, transfer = map(float, capsys.readouterr().out.split())
    assert -100 <= sts <= 100
    assert 0 <= transfer <= 100


def letters(texts: list[str]) -> np.ndarray:
    """How often each letter occurs: somebody else's model."""
    return np.array([[text.lower().count(chr(97 + k)) + 0.1 for k in range(26)] for text in texts])
