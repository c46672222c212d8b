"""Whether optional packages are there, without importing them."""

from importlib.util import find_spec


def is_installed(*packages: str) -> bool:
    """Whether all of them can be imported, as far as that is known beforehand."""
    try:
        return all(find_spec(package) is not None for package in packages)
    except (ImportError, ValueError):  # whatever stands in their way
        return False
