"""From what was asked for to a search: every mistake is found before anything is queued."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.config import load as config
from pipeline.config.schema import TrainParams
from pipeline.grid_search.cells import COMPONENTS, RATE, Grids, Search, Settings, digest, keys
from pipeline.grid_search.experiments import call
from pipeline.machine.errors import ConfigError, InputError
from pipeline.machine.settings import check, read_yaml, unknown
from pipeline.objectives import OBJECTIVES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What decides a run's result besides the composed settings; a queued run takes its changes along.
DECIDING = ("backbones", "data", "dvc.yaml", "pipeline")
SECTIONS = ("corpus", "backbone", "train", "evaluate", "conventions")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What was asked for.

    Attributes:
        objective: a name.
        profile: likewise.
        seed: of every run.
        given: more overrides, `key=value`.
        copy_paths: untracked paths that the runs get.
        values: each setting's grid.
        start: margin, temperature and ratio of stage one.
    """

    objective: str
    profile: str
    seed: int
    given: tuple[str, ...]
    copy_paths: tuple[str, ...]
    values: Mapping[str, tuple[float, ...]]
    start: Settings


def resolve(request: Request) -> tuple[Search, Grids]:
    """The search and its grids.

    Raises:
        InputError: something asked for is unknown, out of range or not there.
        ConfigError: the settings that come of it are not valid.
    """
    _check_place()
    _check_names(request)
    grids = _grids(request)
    search = Search(
        objective=request.objective,
        profile=request.profile,
        seed=request.seed,
        given=request.given,
        commit=call(["git", "rev-parse", "HEAD"]).strip(),
        uncommitted=_uncommitted(),
        composed="",
    )
    composed = compose(search.base())
    settings = composed["objectives"].get(search.objective, {})
    own = frozenset(settings.get("train") or {}) & frozenset(RATE)
    deciding = {key: composed.get(key) for key in SECTIONS} | {"objective": settings}
    hashed = digest(json.dumps(deciding, sort_keys=True).encode())
    search = dataclasses.replace(search, composed=hashed, own=own)
    compose(search.overrides(grids.first()[0]))
    _check_data(composed, request.copy_paths)
    return search, grids


def compose(overrides: Sequence[str]) -> dict[str, Any]:
    """The content of params.yaml that `dvc exp run -S ...` makes, checked.

    Raises:
        InputError: Hydra cannot compose it.
        ConfigError: it is not valid.
    """
    from dvc.utils.hydra import compose_and_dump  # noqa: PLC0415 - slow, and not everywhere
    from hydra.errors import HydraException  # noqa: PLC0415
    from omegaconf.errors import OmegaConfBaseException  # noqa: PLC0415

    conf = str(Path("conf").resolve())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "params.yaml")
        try:
            compose_and_dump(str(path), conf, None, "config", conf, list(overrides))
            config.load(path)
        except (HydraException, OmegaConfBaseException) as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise InputError(
                f"the settings cannot be composed from conf/ ({reason}); see --set, --profile and "
                "conf/config.yaml."
            ) from error
        except ConfigError as error:
            message = str(error).replace(str(path), "the settings composed from conf/")
            raise ConfigError(message) from error
        content: Any = read_yaml(path)  # a mapping, as config.load has seen to
    return dict(content)


def _check_place() -> None:
    missing = [name for name in (".dvc", "conf/config.yaml", "dvc.yaml") if not Path(name).exists()]
    if missing:
        raise InputError(
            f"{Path.cwd()} has no {missing[0]}, so it is not the root of a DVC repository with "
            "Triad's pipeline; call it from the checkout's root, after `dvc init` where .dvc is "
            "missing."
        )


def _check_names(request: Request) -> None:
    name = request.objective
    if name not in OBJECTIVES:
        raise InputError(f"--objective: {unknown('objective', name, OBJECTIVES)}")
    profiles = sorted(path.stem for path in Path("conf", "profile").glob("*.yaml"))
    if request.profile not in profiles:
        raise InputError(f"--profile: {unknown('profile', request.profile, profiles)}")
    for override in request.given:
        if "=" not in override:
            raise InputError(f"--set: expected key=value, got {override!r}.")
    inner = [f"objectives.{name}.{key}" for key in COMPONENTS]
    inner += [f"objectives.{name}.train.{key}" for key in RATE]
    own = {"profile", "runs.objectives", "runs.seeds", *(f"train.{key}" for key in RATE), *inner}
    for key in sorted(keys(request.given) & own):
        raise InputError(f"--set: {key} is what the search itself sets; use its own option.")


def _grids(request: Request) -> Grids:
    kind = OBJECTIVES[request.objective].hyperparameters
    searched = [*RATE, *(key for key in COMPONENTS if key in kind.model_fields)]
    for key in searched:
        tried = request.values[key]
        start = [request.start[key]] if key in request.start else []
        for value in (*tried, *start):
            model = TrainParams if key in RATE else kind
            if problems := check(model, {key: value}, optional=model.model_fields):
                raise InputError(problems[0])
    values = {key: tuple(dict.fromkeys(request.values[key])) for key in searched}
    return Grids(
        rate={key: values[key] for key in RATE},
        start={key: request.start[key] for key in searched if key not in RATE},
        components={key: values[key] for key in searched if key not in RATE},
    )


def _uncommitted() -> str | None:
    options = ("--binary", "--no-color", "--no-ext-diff", "--no-textconv")
    changes = call(["git", "diff", "HEAD", *options, "--", *DECIDING])
    return digest(changes.encode()) if changes else None


def _check_data(composed: Mapping[str, Any], copied: Sequence[str]) -> None:
    """Runs happen in copies of the repository, which hold what is tracked or named."""
    data, dev = composed["evaluate"]["data"], composed["train"]["dev"]
    if not Path(dev).is_file():
        raise InputError(
            f"train.dev: {dev} is not there, and its pairs pick the best cell; fetch SentEval's "
            "data (python -m pipeline.fetch), or name a file of graded pairs with "
            "--set train.dev=..."
        )
    watched = {section: composed[section]["watch"] for section in ("corpus", "backbone")}
    for key, path in {**watched, "evaluate.data": data, "train.dev": dev}.items():
        inside = Path(path).resolve().is_relative_to(Path.cwd())
        if inside and not _is_copied(Path(path).resolve(), copied):
            raise InputError(
                f"{key}: {path} is not tracked, so the queue's copies of the repository lack it; "
                f"add --copy-paths {path}"
            )


def _is_copied(path: Path, copied: Sequence[str]) -> bool:
    if any(path.is_relative_to(Path(one).resolve()) for one in copied):
        return True
    if call(["git", "ls-files", "--", str(path)]):
        return True
    return any(Path(f"{place}.dvc").is_file() for place in (path, *path.parents))
