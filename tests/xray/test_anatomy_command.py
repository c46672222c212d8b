"""python -m pipeline.anatomy: a table, numbers, pictures, and the page that it made."""

import json
import re
from pathlib import Path

import pytest

from pipeline.anatomy import main
from pipeline.xray.catalogue import CATALOGUE, find
from tests.tiny import BERT_MINI, ROOT, Refused

PAGE = (ROOT / "docs/anatomy.md").read_text(encoding="utf-8")
TABLE = [line for line in PAGE.splitlines() if line.startswith("| ")]
SIGMOID = "pipeline.objectives.sigmoid:sigmoid_loss,temperature=0.1,bias=-10.0"


def test_a_loss_leaves_its_numbers_and_three_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "xray"
    assert main([SIGMOID, "--out", str(out)]) == 0
    name = "sigmoid_loss-temperature-0.1-bias--10.0"
    kinds = [f"_{kind}.{end}" for kind in ("dissipation", "hardest_share", "ratio")
             for end in ("json", "png", "svg")]  # fmt: skip
    assert {path.name for path in out.iterdir()} == {f"{name}{end}" for end in (".json", *kinds)}
    content = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
    assert content["values"] == {"temperature": 0.1, "bias": -10.0}
    assert content["verdict"]["dissipation"] == "faulty"
    printed = capsys.readouterr().out
    assert f"| `{name}` |" in printed
    assert printed.endswith(f"1 losses over 5 batches; see {out}.\n")


def test_an_encoders_own_embeddings_may_be_measured_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sentences = str(ROOT / "data/sample/wiki.txt.xz")
    assert main(["info_nce", "--encoder", str(BERT_MINI), "--sentences", sentences]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert re.fullmatch(rf"info_nce on {BERT_MINI}: dissipation 0\.\d+, .*, ratio 1", last)


WRONG = {
    "info_nc": "anatomy: unknown loss 'info_nc'; did you mean 'info_nce'?",
    "info_nce,temperature": "anatomy: 'temperature' in 'info_nce,temperature' is no key=value.",
    "nowhere:Loss": "anatomy: NAME: nowhere:Loss cannot be imported",
    "info_nce,temperature=-1": "anatomy: info_nce.temperature: -1",
    "info_nce,temperature=[1": "anatomy: 'temperature=[1' in 'info_nce,temperature=[1': '[1' is no",
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_loss_is_one_sentence(name: str, refused: Refused) -> None:
    assert refused(main([name])).startswith(WRONG[name])


def test_a_loss_of_the_page_may_have_other_values(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["siglip,temperature=1"]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith("| `siglip-temperature-1` |")
    assert line.endswith("| Zhai et al. 2023 |")
    assert CATALOGUE["siglip"].values["bias"] == find("siglip,temperature=1")[1].values["bias"]


def test_the_page_shows_the_whole_catalogue() -> None:
    assert [re.findall("`(.+?)`", line)[0] for line in TABLE[2:]] == list(CATALOGUE)


@pytest.mark.parametrize("name", ["info_nce", "siglip", "vicreg"])
def test_the_pages_table_is_what_the_command_prints(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name]) == 0
    header, _, line = capsys.readouterr().out.splitlines()
    assert header == TABLE[0]
    assert line in TABLE


@pytest.mark.verify
def test_the_pages_whole_table_is_what_the_command_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("pytorch_metric_learning", reason="the extra `anatomy` is not installed")
    assert main([]) == 0
    assert capsys.readouterr().out.splitlines() == TABLE
