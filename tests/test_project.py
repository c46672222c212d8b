"""What a project has besides code agrees with itself: versions, workflows, forms, site."""

import json
import re
import tomllib
from importlib.resources import files
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FILES_OF_GITHUB = sorted((ROOT / ".github").glob("*/*.yml"))
SCHEMAS = {"workflows": "github-workflows", "ISSUE_TEMPLATE": "github-issue-forms"}


def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_version_is_the_newest_of_the_changelog_and_the_cited_one() -> None:
    newest = re.findall(r"^## ([\d.]+), \d{4}-\d\d-\d\d$", text_of("CHANGELOG.md"), re.MULTILINE)
    assert newest[0] == PROJECT["version"] == yaml.safe_load(text_of("CITATION.cff"))["version"]


@pytest.mark.parametrize("file", FILES_OF_GITHUB, ids=lambda file: file.name)
def test_a_workflow_or_an_issue_form_has_githubs_schema(file: Path) -> None:
    pytest.importorskip("check_jsonschema", reason="check-jsonschema has the schema")
    kind = "github-issue-config" if file.name == "config.yml" else SCHEMAS[file.parent.name]
    vendored = files("check_jsonschema") / f"builtin_schemas/vendor/{kind}.json"
    schema = json.loads(vendored.read_text(encoding="utf-8"))
    # YAML 1.1 reads the key `on` as true.
    content = {
        "on" if key is True else key: value
        for key, value in yaml.safe_load(file.read_text(encoding="utf-8")).items()
    }
    jsonschema.validators.validator_for(schema)(schema).validate(content)


def test_ci_runs_the_projects_own_script_on_each_python_that_is_promised() -> None:
    job = yaml.safe_load(text_of(".github/workflows/ci.yml"))["jobs"]["test"]
    assert job["steps"][-1] == {"run": ".ci/run"}
    versions = job["strategy"]["matrix"]["python"]
    assert PROJECT["requires-python"] == f">={versions[0]}"
    assert versions == ["3.11", "3.12", "3.13"]


def test_every_command_of_the_distribution_is_a_function_there() -> None:
    for entry in PROJECT["scripts"].values():
        module, _, function = entry.partition(":")
        code = text_of(f"{module.replace('.', '/')}.py")
        assert re.search(rf"^def {function}\(", code, re.MULTILINE), entry


def test_the_site_shows_every_page() -> None:
    shown = text_of("mkdocs.yml").partition("nav:")[2].partition("hooks:")[0]
    for page in (ROOT / "docs").rglob("*.md"):
        assert page.relative_to(ROOT / "docs").as_posix() in shown, page
