"""What DVC watches for a source: stages depend on files, and what lies on the hub is none.

conf/hydra_plugins runs this file by its path, so it may import the standard library only.
"""

from pathlib import Path

# Stands for a source that is no local path: a file that is always there.
NOT_LOCAL = "conf/config.yaml"


def watched(source: str) -> str:
    """The source itself if it is a local path, else a file that does not change with it."""
    return source if Path(source).exists() else NOT_LOCAL
