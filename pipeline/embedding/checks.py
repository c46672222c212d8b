"""What can be told to go wrong before anything is read."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from pipeline.embedding.cluster import check_address
from pipeline.embedding.opening import PARQUET, require_pyarrow
from pipeline.embedding.plan import check_new, parts_folder
from pipeline.machine.errors import InputError, WriteError
from pipeline.machine.files import check_writable

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from pipeline.embedding.plan import Plan


def check_options(options: argparse.Namespace) -> None:
    """Refuse options that cannot be used.

    Raises:
        InputError: an option is of no use as it is.
        WriteError: the output cannot be written, or exists.
    """
    _check_encoder(options.encoder)
    _check_output(options.output, options.input, options.encoder)
    if options.ray is not None:
        check_address(options.ray)
        return
    for name in ("workers", "gpus_per_worker"):
        if getattr(options, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option}: it is for a cluster's workers; give --ray ADDRESS too.")


def _check_encoder(encoder: Path) -> None:
    if not any((encoder / name).is_file() for name in ("config.json", "modules.json")):
        raise InputError(
            f"--encoder: {encoder} is no encoder's folder (it has no config.json or "
            "modules.json); give a sentence-transformers or Hugging Face folder."
        )


def _check_output(output: Path, source: Path, encoder: Path) -> None:
    if output.suffix.lower() not in (".npy", PARQUET):
        raise InputError(
            f"OUTPUT: {output} is of an unknown format; give a name in .npy or .parquet."
        )
    for option, folder in (("INPUT", source), ("--encoder", encoder)):
        if output.resolve().is_relative_to(folder.resolve()):
            raise InputError(f"OUTPUT: {output} lies in {option}, {folder}; write elsewhere.")
    check_writable("OUTPUT", output)
    check_new(output)
    if output.suffix.lower() == PARQUET:
        require_pyarrow(f"OUTPUT: {output}")


def check_room(output: Path, plan: Plan) -> None:
    """Refuse an output that the disk has no room for.

    Raises:
        WriteError: it is too large.
    """
    whole = plan.sentences * plan.row_bytes
    # A Parquet file is made of embeddings that are all on the disk already.
    needed = whole * (2 if output.suffix.lower() == PARQUET else 1)
    folder = parts_folder(output)
    held = sum(path.stat().st_blocks * 512 for path in folder.glob("*"))
    near = next(parent for parent in output.resolve().parents if parent.exists())
    free = shutil.disk_usage(near).free
    if needed - held > free:
        raise WriteError(
            f"OUTPUT: {output} needs {_gigabytes(needed - held)} more and {near} has "
            f"{_gigabytes(free)}; make room, name another place, or give --dtype float16."
        )


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB"
