"""README and docs say what the files say: tables are results, code runs, links lead somewhere."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.serve import markdown
from pipeline.objectives import OBJECTIVES

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
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
        ("README.md", "results/wiki/comparison.md", "averages"),
        ("docs/paper.md", "results/wiki/analysis/report.md", "a table"),
        ("docs/results.md", "results/comparison.md", ""),
        ("docs/results.md", "results/serving/speed.md", ""),
        ("docs/results.md", "results/training/cpu.md", ""),
        ("docs/results.md", "results/wiki/comparison.md", ""),
    }


@pytest.mark.parametrize(
    ("file", "part", "shown"),
    [quote[1:] for quote in QUOTES if quote[2] != "averages"],
    ids=[f"{page} {file}" for page, file, part, _ in QUOTES if part != "averages"],
)
def test_a_table_is_the_committed_file(file: str, part: str, shown: str) -> None:
    committed = text_of(file)
    if part == "a table":
        assert shown in committed
    else:
        assert shown == (first_table(committed) if part else committed.strip())


# Rows of the README's table, and the objectives that they show.
FAMILIES = {
    "VICReg": "vicreg",
    "Barlow Twins": "barlow_twins",
    "alignment + MHE": "mhe",
    "InfoNCE (contrastive, for comparison)": "info_nce",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_readmes_averages_are_those_of_the_real_run(family: str) -> None:
    (shown,) = (shown for *_, part, shown in QUOTES if part == "averages")
    cells = {row[0]: row[1:] for row in map(row_cells, shown.splitlines())}
    original, modified, difference, interval = cells[family]
    committed = text_of("results/wiki/comparison.md")
    averages = {row[0]: row[-1] for row in map(row_cells, first_table(committed).splitlines())}
    name = FAMILIES[family]
    assert original == averages[f"`{name}`"]
    if name != "info_nce":
        assert modified == averages[f"`{name}_modified`"]
        assert any(
            {f"`{name}_modified`", "avg", difference, interval} <= set(row_cells(line))
            for line in committed.splitlines()
        )


def test_the_readmes_other_averages_are_measured_too() -> None:
    def average(file: str) -> str:
        return f"{json.loads(text_of(file))['average']:.2f}"

    untrained = average("results/wiki/metrics/untrained.json")
    assert f"| untrained backbone, [CLS] | {untrained} |" in README
    for name in ("vicreg", "vicreg_modified"):
        score = average(f"encoders/reference/{name}.json")
        assert re.search(rf"`{name}-reference`(?: scores)? {score}", README)


@pytest.mark.parametrize("name", ["vicreg", "vicreg_modified"])
def test_the_best_and_the_last_step_were_measured(name: str) -> None:
    runs = "results/wiki/runs/3.0e-4"
    best, last = (
        f"{json.loads(text_of(f'{runs}/{reading}/metrics/{name}/42.json'))['average']:.2f}"
        for reading in ("best", "last")
    )
    assert f"| `{name}` | {best} | {last} |" in text_of("docs/results.md")
    assert {best, last} <= set(re.findall(r"\d+\.\d+", README))


def test_vicreg_was_best_at_step_10() -> None:
    record = json.loads(text_of("results/wiki/runs/3.0e-4/records/vicreg/42.json"))
    assert record["best"]["step"] == 10


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
