"""conf/: every profile, overlay and documented experiment composes into a valid params.yaml."""

import itertools
import re
import shlex
from pathlib import Path

import pytest
import yaml
from dvc.utils.hydra import compose_and_dump, get_hydra_sweeps

from pipeline.config import load as config
from pipeline.config.schema import Params

ROOT = Path(__file__).parents[2]
PROFILES = sorted(path.stem for path in (ROOT / "conf" / "profile").glob("*.yaml"))
OVERLAYS = sorted(path.stem for path in (ROOT / "conf" / "overlay").glob("*.yaml"))


def compose(folder: Path, *overrides: str) -> Path:
    """As `dvc exp run -S ...` does."""
    path = folder / "params.yaml"
    path.unlink(missing_ok=True)
    compose_and_dump(
        str(path), str(ROOT / "conf"), None, "config", str(ROOT / "conf"), list(overrides)
    )
    return path


def params(folder: Path, *overrides: str) -> Params:
    return config.load(compose(folder, *overrides))


def test_the_committed_params_are_the_default_profile(tmp_path: Path) -> None:
    composed = compose(tmp_path).read_text(encoding="utf-8")
    assert (ROOT / "params.yaml").read_text(encoding="utf-8") == composed


def test_the_study_on_real_sentences_is_the_papers_and_the_papers_head(tmp_path: Path) -> None:
    """A profile can only give a list whole, so the two must be kept alike."""
    usual = list(params(tmp_path, "profile=paper-bert").analysis.objectives)
    studied = list(params(tmp_path, "profile=wiki").analysis.objectives)
    assert studied == [*usual, "vicreg_modified_mlp"]


@pytest.mark.parametrize(("profile", "overlay"), list(itertools.product(PROFILES, OVERLAYS)))
def test_every_profile_with_every_overlay_is_valid(
    profile: str, overlay: str, tmp_path: Path
) -> None:
    own = ["corpus.source=mine.txt"] if profile == "custom" else []
    assert params(tmp_path, f"profile={profile}", f"overlay={overlay}", *own).objectives


def test_what_lies_on_the_hub_is_one_override(tmp_path: Path) -> None:
    """DVC cannot watch it: a file that is always there takes its place."""
    found = params(
        tmp_path,
        "backbone.source=roberta-base",
        "corpus.source=hf://datasets/somebody/sentences/train.txt",
    )
    for section in (found.backbone, found.corpus):
        assert section.watch == "conf/config.yaml"
        assert (ROOT / section.watch).is_file()


BERT = {
    "mhe_modified": (0.3, 1.75),
    "mhs_modified": (0.3, 1.75),
    "barlow_twins_modified": (0.3, 1.5),
    "vicreg_modified": (0.3, 1.5),
}
ROBERTA = {
    "mhe_modified": (0.3, 1.25),
    "mhs_modified": (0.27, 1.0),
    "barlow_twins_modified": (0.37, 1.25),
    "vicreg_modified": (0.37, 1.25),
}


@pytest.mark.parametrize(
    ("profile", "batch_size", "every", "settings"),
    [("paper-bert", 128, 125, BERT), ("paper-roberta", 512, 50, ROBERTA)],
)
def test_the_papers_profiles_hold_the_papers_settings(
    profile: str,
    batch_size: int,
    every: int,
    settings: dict[str, tuple[float, float]],
    tmp_path: Path,
) -> None:
    found = params(tmp_path, f"profile={profile}")
    train = found.train
    assert (train.batch_size, train.evaluate_every, train.learning_rate) == (
        batch_size,
        every,
        1e-5,
    )
    assert (train.epochs, train.steps, train.max_length, train.keep) == (1, None, 32, "best")
    assert (train.weight_decay, train.gradient_clip) == (0.0, 1.0)
    assert len(found.runs.seeds) == 3
    for name, (margin, ratio) in settings.items():
        fields = found.objective(name).hyperparameters.model_dump()
        assert (fields["margin"], fields["ratio"]) == (margin, ratio)
        assert fields.get("temperature", 0.05) == 0.05


@pytest.mark.parametrize(
    ("backbone", "rate"), [("backbones/bert-mini-wiki", 3e-4), ("roberta-base", 1e-5)]
)
def test_a_corpus_of_ones_own_is_trained_on_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backbone: str, rate: float
) -> None:
    monkeypatch.chdir(ROOT)
    corpus = tmp_path / "my sentences.txt"
    corpus.write_text("One.\nTwo.\n", encoding="utf-8")
    source = f"corpus.source='{corpus}'"
    found = params(tmp_path, "profile=custom", source, f"backbone.source={backbone}")
    assert found.corpus.source == found.corpus.watch == str(corpus)
    assert (found.train.epochs, found.train.steps, found.train.keep) == (1, None, "last")
    assert found.train.learning_rate == rate
    assert found.train.dev == found.evaluate.data == "data/sample/stsb_captions.tsv"


def test_a_corpus_of_ones_own_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"this profile needs -S corpus\.source=\.\.\."):
        params(tmp_path, "profile=custom")


def test_the_authors_overlay_sets_every_convention_to_the_other_value(tmp_path: Path) -> None:
    found = params(tmp_path, "profile=paper-bert", "overlay=authors")
    assert found.conventions.model_dump() == {
        "gate": "within_view",
        "positive_gradient": "both",
        "mean_over": "open",
        "mhs_negatives": "other_view",
        "mhe_exponent": 1,
        "mhe_weight_pull": "balanced",
    }
    assert (found.train.head, found.train.head_std) == ("linear", 6e-3)
    assert found.train.freeze_embeddings
    assert found.objective("paradigm").hyperparameters.model_dump()["gate"] == "cross_view"
    assert found.train_for("mhs").learning_rate == 5e-6
    assert found.train_for("mhe").learning_rate == 1e-5


def test_the_authors_overlay_for_roberta_slows_the_originals(tmp_path: Path) -> None:
    found = params(tmp_path, "profile=paper-roberta", "overlay=authors-roberta")
    assert found.train.head == "tanh_linear"
    rates = {name: found.train_for(name).learning_rate for name in found.runs.objectives}
    slow = {name for name, rate in rates.items() if rate == 1e-6}
    assert slow == {"mhe", "mhs", "barlow_twins", "vicreg"}


def documented() -> list[list[str]]:
    """The overrides of each `dvc exp run` in the documentation."""
    found = []
    for page in ("training", "experiments", "results"):
        text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
        for line in re.findall(r"^\s*dvc exp run (.*)$", text, re.MULTILINE):
            words = shlex.split(line, comments=True)
            found.append([words[i + 1] for i, word in enumerate(words) if word == "-S"])
    return found


@pytest.mark.parametrize("overrides", documented(), ids=" ".join)
def test_every_documented_experiment_composes_in_every_cell(
    overrides: list[str], tmp_path: Path
) -> None:
    cells = get_hydra_sweeps({"params.yaml": overrides})
    assert cells
    for cell in (cells[0], cells[-1]):
        assert params(tmp_path, *cell["params.yaml"]).runs.objectives


def test_the_second_grid_has_the_papers_sixty_cells() -> None:
    grids = [o for o in documented() if "objectives.vicreg_modified.temperature" in " ".join(o)]
    assert [len(get_hydra_sweeps({"params.yaml": grid})) for grid in grids] == [60]


def test_dvc_declares_the_default_profiles_encoders_as_models(tmp_path: Path) -> None:
    pipeline = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))
    runs = params(tmp_path).runs
    expected = {
        f"{name}-{seed}".replace("_", "-"): f"models/{name}/{seed}"
        for name in runs.objectives
        for seed in runs.seeds
    }
    assert {name: a["path"] for name, a in pipeline["artifacts"].items()} == expected
    assert {a["type"] for a in pipeline["artifacts"].values()} == {"model"}
