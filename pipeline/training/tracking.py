"""A run's curve in a tracker that the user has: dvclive, MLflow or TensorBoard; off by default.

Each through its own package, which is not installed with Triad. A tracker sees what the display
sees, and decides nothing: it is no part of a run's identity.
"""

from __future__ import annotations

import math
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.machine.errors import InputError, first_line
from pipeline.training.display import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from pipeline.config.schema import Track
    from pipeline.training.display import Report

    Log = Callable[[int, Mapping[str, float]], None]

PLACE = Path("tracks")  # of the trackers that write files; a folder a run


def check_installed(track: Track) -> None:
    """Refuse a tracker whose package is not there.

    Raises:
        InputError: it is not.
    """
    if track != "none" and find_spec(track) is None:
        raise InputError(
            f"train.track: {track} is not installed; install it with: pip install {track}, or "
            "give none."
        )


@contextmanager
def tracking(track: Track, name: str, settings: Mapping[str, Any]) -> Iterator[Report]:
    """A report that gives the curve's rows to a tracker.

    Args:
        track: which one.
        name: of the run, `<objective>-<seed>`.
        settings: its identity, nested.

    Raises:
        InputError: the tracker's package is not installed, or it does not start.
    """
    check_installed(track)
    if track == "none":
        yield silent
        return
    with ExitStack() as entered:
        try:
            log = entered.enter_context(_TRACKERS[track](name, flat(settings)))
        except Exception as error:  # trackers raise what they like about their own settings
            raise InputError(
                f"train.track: {track} does not start ({type(error).__name__}: "
                f"{first_line(error)}); correct its settings, or give none."
            ) from error
        yield _reporting(log)


def _reporting(log: Log) -> Report:
    def report(step: int, steps: int, row: Mapping[str, float] | None) -> None:  # noqa: ARG001
        if row is not None:  # what is undefined is left out
            numbers = {key: value for key, value in row.items() if math.isfinite(value)}
            log(step, {key: value for key, value in numbers.items() if key != "step"})

    return report


def flat(settings: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested settings as one level: `training.batch_size`."""
    single: dict[str, Any] = {}
    for key, value in settings.items():
        inner = isinstance(value, dict)
        single |= flat(value, f"{before}{key}.") if inner else {f"{before}{key}": value}
    return single


@contextmanager
def _dvclive(name: str, settings: Mapping[str, Any]) -> Iterator[Log]:
    from dvclive import Live  # noqa: PLC0415

    # An experiment of DVC would commit the workspace in the middle of a stage.
    with Live(str(PLACE / name), save_dvc_exp=False, dvcyaml=None) as live:
        live.log_params(dict(settings))

        def log(step: int, row: Mapping[str, float]) -> None:
            live.step = step
            for key, value in row.items():
                live.log_metric(key, value)
            live.make_summary()

        yield log


@contextmanager
def _mlflow(name: str, settings: Mapping[str, Any]) -> Iterator[Log]:
    import mlflow  # noqa: PLC0415 - MLFLOW_TRACKING_URI says where runs go

    with mlflow.start_run(run_name=name):
        mlflow.log_params(dict(settings))
        yield lambda step, row: mlflow.log_metrics(dict(row), step=step)


@contextmanager
def _tensorboard(name: str, settings: Mapping[str, Any]) -> Iterator[Log]:
    from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415

    with SummaryWriter(str(PLACE / name)) as writer:
        rows = [f"| {key} | {value} |" for key, value in settings.items()]
        writer.add_text("settings", "\n".join(["| setting | value |", "| --- | --- |", *rows]))

        def log(step: int, row: Mapping[str, float]) -> None:
            for key, value in row.items():
                writer.add_scalar(key, value, step)

        yield log


_TRACKERS: dict[str, Callable[[str, Mapping[str, Any]], AbstractContextManager[Log]]] = {
    "dvclive": _dvclive,
    "mlflow": _mlflow,
    "tensorboard": _tensorboard,
}
