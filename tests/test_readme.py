"""README and docs say what the files say: tables are committed results, code runs."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.serve_peers.markdown import markdown
from pipeline.objectives import OBJECTIVES

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def embedded(text: str) -> list[tuple[str, str]]:
    """Files that a page says to show, and what it shows of each."""
    return re.findall(r"<!-- (\S+\.md) -->\n(.*?)<!-- end -->", text, re.DOTALL)


EMBEDDED = embedded(README)


def test_the_sample_the_real_run_and_the_services_speed_are_shown() -> None:
    runs = ["results/comparison.md", "results/serving/speed.md", "results/wiki/comparison.md"]
    assert sorted(path for path, _ in EMBEDDED) == runs


@pytest.mark.parametrize(("path", "shown"), EMBEDDED, ids=[path for path, _ in EMBEDDED])
def test_a_table_is_the_committed_file(path: str, shown: str) -> None:
    assert shown.strip() == (ROOT / path).read_text(encoding="utf-8").strip()


def test_the_services_speed_is_what_was_measured() -> None:
    measured = json.loads((ROOT / "results/serving/speed.json").read_text(encoding="utf-8"))
    assert (ROOT / "results/serving/speed.md").read_text(encoding="utf-8") == markdown(measured)


def test_what_conventions_change_is_a_part_of_the_report_on_real_sentences() -> None:
    ((path, shown),) = embedded((ROOT / "docs/paper.md").read_text(encoding="utf-8"))
    assert shown.count("\n| `vicreg_modified") == 6
    assert shown.strip() in (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{p.name}" for p in ROOT.glob("docs/*.md"))])
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for target in re.findall(r"\]\(([^):]+)\)", prose):
        file, _, part = target.partition("#")
        other = (ROOT / page).parent / file if file else ROOT / page
        assert other.exists(), target
        if part:
            titles = re.findall(r"^#+ (.+)$", other.read_text(encoding="utf-8"), re.MULTILINE)
            assert part in [title.lower().replace(" ", "-") for title in titles], target


@pytest.mark.parametrize(
    "name",
    [n for n in OBJECTIVES if "_dissipation" not in n and not n.endswith(("norm", "centred"))],
)
def test_every_objective_stands_in_the_table(name: str) -> None:
    assert f"| `{name}` |" in README


def snippet(word: str) -> str:
    """The README's Python that holds a word."""
    snippets = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (found,) = (str(snippet) for snippet in snippets if word in snippet)
    return found


def test_the_five_lines_load_embed_and_compare(capsys: pytest.CaptureFixture[str]) -> None:
    """With the embedded backbone in place of a trained encoder, which a clone does not have."""
    first = snippet("SentenceEncoder").replace(
        "models/vicreg_modified/42", str(ROOT / "backbones/bert-mini-wiki")
    )
    assert len([line for line in first.splitlines() if line]) <= 5
    exec(first, {})
    assert -1 <= float(capsys.readouterr().out) <= 1


def test_the_objective_alone_is_one_import() -> None:
    import torch  # noqa: PLC0415 - as the snippet's reader would have it

    anchor, positive = torch.randn(4, 8), torch.randn(4, 8)
    scope = {"anchor": anchor, "positive": positive}
    exec(snippet("OBJECTIVES"), scope)
    assert scope["weight"].shape == (4, 4)


def test_any_model_is_measured_in_three_lines(capsys: pytest.CaptureFixture[str]) -> None:
    code = snippet("evaluate").replace("SentEval/data/downstream", str(ROOT / "data/sample"))
    code = code.replace('sample")', 'sample", setting="fast")')
    assert len([line for line in code.splitlines() if line]) <= 3
    exec(code, {"encode": letters})
    sts, transfer = map(float, capsys.readouterr().out.split())
    assert -100 <= sts <= 100
    assert 0 <= transfer <= 100


def letters(texts: list[str]) -> np.ndarray:
    """How often each letter occurs: somebody else's model."""
    return np.array([[text.lower().count(chr(97 + k)) + 0.1 for k in range(26)] for text in texts])
