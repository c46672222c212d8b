"""Settings of conf/ and what replaces them -> params.yaml, as `dvc exp run -S` makes it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.config import load as config
from pipeline.machine.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.config.schema import Params


def compose(path: Path, overrides: Sequence[str]) -> Params:
    """Write the settings that `dvc exp run` makes of overrides, and check them.

    Raises:
        InputError: they cannot be composed from conf/, or are not valid.
    """
    from dvc.utils.hydra import compose_and_dump  # noqa: PLC0415 - slow, and not everywhere
    from hydra.errors import HydraException  # noqa: PLC0415
    from omegaconf.errors import OmegaConfBaseException  # noqa: PLC0415

    conf = str(Path("conf").resolve())
    try:
        compose_and_dump(str(path), conf, None, "config", conf, list(overrides))
        return config.load(path)
    except (HydraException, OmegaConfBaseException) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"the settings cannot be composed from conf/ ({reason}).") from error
    except InputError as error:
        place = "the settings composed from conf/"
        raise InputError(str(error).replace(str(path), place)) from error
