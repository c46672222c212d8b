"""params.yaml: everything wrong is said at once, with key, value and what is allowed."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st

from pipeline.config import load as config
from pipeline.config.schema import Params
from pipeline.machine.errors import ConfigError
from pipeline.machine.settings import shown
from pipeline.objectives import OBJECTIVES
from tests.tiny import MISSING, SETTINGS, settings, write_params


def load(tmp_path: Path, **changes: Any) -> Params:
    return config.load(write_params(tmp_path / "params.yaml", changes))


def problems(tmp_path: Path, changes: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, **changes)
    headline, *found = str(caught.value).split("\n  ")
    assert headline.endswith(f"{len(found)} problem{'s' if len(found) != 1 else ''}:")
    return found


def test_a_complete_file_becomes_the_values_it_holds(tmp_path: Path) -> None:
    params = load(tmp_path)
    for section in ("corpus", "backbone", "train", "evaluate", "compare"):
        assert getattr(params, section).model_dump() == SETTINGS[section]
    assert params.runs.objectives == ("info_nce", "vicreg")
    assert params.runs.seeds == (1, 2)


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        {
            "train.batch_siz": 8,
            "train.epochs": MISSING,
            "train.steps": "many",
            "train.gradient_clip": 0,
            "backbone.pooling": "clss",
            "evaluate": [1],
            "runs.objectives": ["info_nce", "vicregg"],
            "conventions.gate": "sideways",
            "conventions.gaet": "cross_view",
            "objectives.info_nce": {"temperature": -1, "temprature": 1},
            "objectives.vicreg.train": {"learning_rate": 0, "epoch": 1},
            "objectives.infonce": {},
        },
    )
    assert len(found) == 14
    for sentence in (
        "train: unknown key 'batch_siz'; did you mean 'batch_size'? Known: max_length, ",
        "train.epochs: missing; add it.",
        "train.steps: expected a whole number or null, got 'many'.",
        "train.gradient_clip: 0 is out of range; it must be above 0.0 (l2 norm).",
        "backbone.pooling: expected one of 'cls', 'mean', 'max', got 'clss'.",
        "evaluate: expected a mapping of keys, got [1].",
        "runs.objectives: unknown objective 'vicregg'; did you mean 'vicreg'? Known: info_nce, ",
        "conventions.gate: expected one of 'cross_view', 'within_view', got 'sideways'.",
        "conventions: unknown key 'gaet'; did you mean 'gate'? Known: ",
        "objectives.info_nce.temperature: -1 is out of range; it must be above 0.0 (cosine).",
        "objectives.info_nce: unknown key 'temprature'; did you mean 'temperature'? Known: ",
        "objectives.vicreg.train.learning_rate: 0 is out of range; it must be above 0.0",
        "objectives.vicreg.train: unknown key 'epoch'; did you mean 'epochs'? Known: ",
        "objectives: unknown objective 'infonce'; did you mean 'info_nce'? Known: ",
    ):
        assert any(problem.startswith(sentence) for problem in found), (sentence, found)


AS_TEXT = "which YAML reads as text: write 3.0e-05."
GENTLE = {"variant_of": "vicreg", "covariance_coefficient": 3.0}
SECTIONS = ("corpus", "train", "compare", "conventions")
PATHS = [f"{name}.{key}" for name in SECTIONS for key in SETTINGS[name]]


@pytest.mark.parametrize("path", [*SETTINGS, *PATHS])
def test_every_key_must_be_there(tmp_path: Path, path: str) -> None:
    assert f"{path}: missing; add it." in problems(tmp_path, {path: MISSING})


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("train.batch_size", 1, "at least 2 (sentences)"),
        ("train.batch_size", 8.0, "expected a whole number, got 8.0"),
        ("train.batch_size", True, "expected a whole number, got True"),
        ("train.learning_rate", float("inf"), "inf is out of range"),
        ("train.learning_rate", float("nan"), "nan is out of range"),
        ("train.freeze_embeddings", "no", "expected true or false, got 'no'"),
        ("train.max_length", 2, "at least 3 (tokens)"),
        ("corpus.held_out", 0.95, "at least 0.0 and at most 0.9 (share)"),
        ("corpus.revision", 7, "expected text or null, got 7"),
        ("compare.resamples", 99, "at least 100 (resamples)"),
        ("runs.seeds", [], "expected a list of at least one whole number, got []"),
        ("runs.seeds", [1, "2"], "expected a list of at least one whole number"),
        ("runs.seeds", [1, -2], "-2 is out of range; it must be at least 0 and at most"),
        ("runs.objectives", [["info_nce"]], "expected a list of at least one text"),
        ("runs.objectives", ["mhs"], "objectives.mhs: missing; add its hyperparameters."),
        ("objectives.vicreg_modified.margin", MISSING, "vicreg_modified.margin: missing; add it."),
        ("runs.objectives", ["vicreg", "vicreg"], "'vicreg' stands there more than once."),
        ("evaluate.tasks", "STSB", "unknown task 'STSB'; did you mean 'STS-B'? Known: sts, "),
        ("objectives.info_nce", None, "info_nce: expected a mapping of keys, got None"),
        ("objectives.info_nce.temperature", None, "temperature: expected a number, got None"),
        ("objectives.info_nce.train", 3, "info_nce.train: expected a mapping of keys, got 3"),
        ("objectives.info_nce.trian", {}, "unknown key 'trian'; did you mean 'train'?"),
        ("objectives.vicreg_modified.margin", 2.5, "at least 0.0 and at most 2.0 (cosine)"),
        ("objectives.vicreg.temperature", 0.05, "objectives.vicreg: unknown key 'temperature'"),
        ("objectives.vicreg.train", {"max_length": 9}, "must equal train.max_length (16), since"),
        ("objectives.vicreg.train", {"keep": "last"}, "must equal train.keep ('best'), since"),
        ("objectives.vicreg.train", {"dev": "other.csv"}, "must equal train.dev ("),
        ("train.keep", "first", "train.keep: "),
        ("compare.baseline", "info_nc", "unknown objective 'info_nc'; did you mean 'info_nce'?"),
        ("train.learning_rate", "3e-5", f"got '3e-5', {AS_TEXT}"),
        ("objectives.info_nce.temperature", "3e-5", f"got '3e-5', {AS_TEXT}"),
        ("analysis.tasks", 3, "analysis.tasks: expected text, got 3"),
        ("analysis.tasks", "STSB", "analysis.tasks: unknown task 'STSB'; did you mean 'STS-B'?"),
        ("compare.seed", 2**32, "it must be at least 0 and at most 4294967295 (seed)"),
        ("analysis.objectives", ["vicregg"], "analysis.objectives: unknown objective 'vicregg'; "),
        ("analysis.simulation.objectives", ["mp"], "simulation.objectives: unknown objective 'mp'"),
        ("objectives.gentle", {"variant_of": "vicregg"}, "did you mean 'vicreg'"),
        ("objectives.gentle", {"variant_of": "vicreg"}, "covariance_coefficient: missing; add it."),
        ("objectives.gentle", GENTLE | {"ratio": 1.0}, "objectives.gentle: unknown key 'ratio'"),
        ("objectives.info_nce", GENTLE, "info_nce is an objective of its own"),
        ("objectives", SETTINGS["objectives"] | {"../x": GENTLE}, "must be of small letters"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(
    tmp_path: Path, path: str, value: object, expected: str
) -> None:
    (problem,) = problems(tmp_path, {path: value})
    assert expected in problem
    assert problem.startswith((path.split(".", maxsplit=1)[0], "objectives"))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_spelling_that_is_proposed_is_a_number_to_yaml(number: float) -> None:
    proposed = shown(f"{number:e}").rpartition(" ")[2]
    read = yaml.safe_load(proposed)
    assert isinstance(read, float)
    assert read == float(f"{number:e}")


@pytest.mark.parametrize("text", ["word", "", "nan", "inf", "1.2.3"])
def test_other_text_is_quoted_as_it_is(text: str) -> None:
    assert shown(text) == repr(text)


@pytest.mark.parametrize("content", ["[1, 2]", "", "just text"])
def test_a_file_that_is_no_mapping_is_one_problem(tmp_path: Path, content: str) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match="1 problem:\n  the file: expected a mapping of keys"):
        config.load(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: 1\nb: [1", r"params\.yaml, line 2: is no valid YAML: expected ',' or ']'"),
        (
            b"a: 1\na: 2",
            r"params\.yaml.* is no valid YAML: the key 'a' stands there more than once",
        ),
        (b"\xff\xfe\x00", r"params\.yaml: cannot be read: 'utf-8' codec"),
        (None, r"params\.yaml: cannot be read: .* No such file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "params.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=message) as caught:
        config.load(path)
    assert "\n" not in str(caught.value)


def test_an_objective_replaces_settings_of_its_own_loop(tmp_path: Path) -> None:
    replaced: dict[str, Any] = {"learning_rate": 0.5, "head": "linear", "steps": None}
    params = load(tmp_path, **{"objectives.vicreg.train": replaced})
    assert params.train_for("vicreg").model_dump() == SETTINGS["train"] | replaced
    assert params.train_for("info_nce") == params.train
    params.objective("vicreg")  # `train` is no hyperparameter


def test_a_convention_reaches_objectives_that_have_it_and_do_not_say_otherwise(
    tmp_path: Path,
) -> None:
    own = SETTINGS["objectives"]["vicreg_modified"] | {"gate": "cross_view"}
    objectives = {"own": own | {"variant_of": "vicreg_modified"}}
    changes = {"objectives": SETTINGS["objectives"] | objectives, "conventions.gate": "within_view"}
    params = load(tmp_path, **changes)
    assert params.objective("vicreg_modified").hyperparameters.model_dump()["gate"] == "within_view"
    assert params.objective("own").hyperparameters.model_dump()["gate"] == "cross_view"
    assert "gate" not in params.objective("vicreg").hyperparameters.model_dump()


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_takes_its_own_defaults_from_the_file(tmp_path: Path, name: str) -> None:
    fields = OBJECTIVES[name]().hyperparameters.model_dump()
    params = load(tmp_path, objectives={name: fields}, runs={"objectives": [name], "seeds": [1]})
    assert params.objective(name) == OBJECTIVES[name]()


@pytest.mark.parametrize("section", ["corpus", "backbone"])
def test_a_local_source_must_be_what_dvc_watches(tmp_path: Path, section: str) -> None:
    (tmp_path / "here").mkdir()
    source = str(tmp_path / "here")
    (problem,) = problems(tmp_path, {f"{section}.source": source})
    expected = f"{section}.watch: must equal {section}.source for a local path ({source!r}), got "
    assert problem == f"{expected}'params.yaml'."
    load(tmp_path, **{f"{section}.source": source, f"{section}.watch": source})


def test_a_local_backbone_has_no_revisions(tmp_path: Path) -> None:
    changes = {"backbone.source": str(tmp_path), "backbone.watch": str(tmp_path)}
    (problem,) = problems(tmp_path, changes | {"backbone.revision": "v1"})
    expected = f"backbone.revision: must be null for a local path ({str(tmp_path)!r}), got 'v1'."
    assert problem == expected
    assert load(tmp_path, **{"backbone.revision": "v1"}).backbone.revision == "v1"


def test_a_source_elsewhere_may_be_watched_by_any_file(tmp_path: Path) -> None:
    assert load(tmp_path, **{"corpus.watch": "anything"}).corpus.watch == "anything"


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=5,
)


@settings_of_hypothesis(max_examples=50, deadline=None)
@given(
    path=st.sampled_from([*SETTINGS, *PATHS, "runs.objectives", "objectives.info_nce"]), value=PLAIN
)
def test_any_value_anywhere_loads_or_is_explained(
    tmp_path_factory: pytest.TempPathFactory, path: str, value: object
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.yaml"
    file.write_text(yaml.safe_dump(settings({path: value})), encoding="utf-8")
    try:
        config.load(file)
    except ConfigError as error:
        assert path.split(".", maxsplit=1)[0] in str(error) or "YAML" in str(error)  # noqa: PT017


def test_a_variant_is_an_objective_under_another_name(tmp_path: Path) -> None:
    runs = ["vicreg", "gentle"]
    params = load(tmp_path, **{"objectives.gentle": GENTLE, "runs.objectives": runs})
    assert params.kind("gentle") == "vicreg"
    assert params.objective("gentle") == OBJECTIVES["vicreg"](covariance_coefficient=3.0)


SIGMOID = {"loss": "pipeline.objectives.sigmoid:sigmoid_loss", "temperature": 0.1, "bias": -10.0}


def test_a_loss_of_others_is_an_objective_as_it_is_and_repaired(tmp_path: Path) -> None:
    repair = {"margin": 0.2, "ratio": 1.5, "temperature": None}
    both = {"sigmoid": SIGMOID, "sigmoid_repaired": SIGMOID | {"repair": repair, "train": {}}}
    changes = {"objectives": SETTINGS["objectives"] | both, "runs.objectives": list(both)}
    params = load(tmp_path, **changes)
    expected = [SIGMOID | {"repair": None}, SIGMOID | {"repair": repair}]
    found = [params.objective(name).hyperparameters.model_dump() for name in both]
    assert found == expected


def test_what_is_wrong_with_a_loss_of_others_is_told_beside_the_rest(tmp_path: Path) -> None:
    wrong = {
        "info_nce": SIGMOID,
        "Mine": SIGMOID,
        "numbered": {"loss": 5},
        "wide": SIGMOID | {"repair": {"margin": 3.0, "ratoi": 1.0}, "train": {"stepss": 5}},
    }
    assert problems(tmp_path, {"objectives": SETTINGS["objectives"] | wrong}) == [
        (
            "objectives.info_nce.loss: info_nce is an objective of its own; give the foreign loss "
            "another name."
        ),
        (
            "objectives: a foreign loss's name is a folder's too, so it must be of small letters, "
            "digits and underscores, got 'Mine'."
        ),
        "objectives.numbered.loss: expected text, got 5.",
        (
            "objectives.wide.repair.margin: 3.0 is out of range; it must be at least 0.0 and at "
            "most 2.0 (cosine)."
        ),
        (
            "objectives.wide.repair: unknown key 'ratoi'; did you mean 'ratio'? Known: margin, "
            "ratio, temperature."
        ),
        "objectives.wide.train: unknown key 'stepss'; did you mean 'steps'? Known: "
        + ", ".join(SETTINGS["train"])
        + ".",
    ]
