"""A Ray cluster for the time of one run: one that is there, or one of this machine alone.

Ray is imported when it is asked for, and not before: it is no dependency of anything else.
"""

from __future__ import annotations

import logging
import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.machine.device import usable_cores
from pipeline.machine.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCAL = "local"
ADDRESSES = re.compile(r"local|auto|[^:/\s]+:[0-9]+")
# Of shared memory, for the chunks that are on their way; further ones would go to the disk.
_OBJECT_STORE = 512 << 20


def check_address(address: str) -> None:
    """Refuse what is no address, before any work.

    Raises:
        InputError: it is none, or Ray is not installed.
    """
    if not ADDRESSES.fullmatch(address):
        raise InputError(
            f"--ray: {address!r} is no address; give local, auto or HOST:PORT of a cluster that "
            "this machine belongs to."
        )
    _set_environment(address)
    try:
        import ray.data  # noqa: F401, PLC0415
    except ImportError as error:
        raise InputError(
            f"--ray: needs the library `ray` with its part `data` ({error}); install it with: pip "
            "install -e '.[ray]'."
        ) from error


def _set_environment(address: str) -> None:
    """Ray reads these when it is imported."""
    # Its core logs what is no failure as an error; what is one is raised as well.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    if address == LOCAL:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Linux included: without this, even a cluster of one machine listens to all others.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"


@contextmanager
def cluster(address: str) -> Iterator[None]:
    """Ray, connected; a cluster that was started here ends with the block.

    Raises:
        InputError: no cluster answers at the address.
    """
    import ray  # noqa: PLC0415

    # Plans, advertising for bars that we draw ourselves, and errors that are raised as well.
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    try:
        if address == LOCAL:
            _start()
        else:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"--ray: no cluster at {address!r} that can be used ({reason}); start one with `ray "
            "start --head`, or give local."
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _start() -> None:
    import ray  # noqa: PLC0415

    ray.init(
        address=LOCAL,
        num_cpus=usable_cores(),
        object_store_memory=_OBJECT_STORE,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        _node_ip_address="127.0.0.1",
    )
