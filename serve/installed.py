"""Whether optional packages and a GPU are there; packages are not imported for that."""

import ctypes
from functools import cache
from importlib.util import find_spec


def is_installed(*packages: str) -> bool:
    """Whether all of them can be imported, as far as that is known beforehand."""
    try:
        return all(find_spec(package) is not None for package in packages)
    except (ImportError, ValueError):  # whatever stands in their way
        return False


@cache
def has_cuda() -> bool:
    """Whether torch can compute on an NVIDIA GPU.

    torch, which takes seconds and 300 MB, is imported only where there is a driver of such GPUs.
    """
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    if not is_installed("torch"):
        return False
    import torch  # noqa: PLC0415 - see above

    return torch.cuda.is_available()
