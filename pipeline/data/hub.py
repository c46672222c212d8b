"""Single files of data sets on the hub, named `hf://datasets/<owner>/<name>/<file>`."""

import re
from pathlib import Path

from huggingface_hub import hf_hub_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from pipeline.machine.errors import InputError, first_line

FORM = "hf://datasets/<owner>/<name>/<file>"

_FILE = re.compile(r"hf://datasets/(?P<name>[^/@]+/[^/@]+)/(?P<file>.+)")


def fetch(name: str, source: str, revision: str | None) -> Path:
    """Path of a file, downloaded or cached, under its own name.

    Args:
        name: Begins the errors: what the file is given as.
        source: A name as in `FORM`.
        revision: Commit, branch or tag; None is the main branch.

    Raises:
        InputError: The source is no such name, or the hub gives no such file.
    """
    match = _FILE.fullmatch(source)
    if match is None:
        raise InputError(f"{name} is no file on the hub; name one as {FORM}.")
    try:
        return Path(
            hf_hub_download(match["name"], match["file"], repo_type="dataset", revision=revision)
        )
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        at = "" if revision is None else f" at revision {revision!r}"
        raise InputError(
            f"{name} cannot be fetched{at} ({type(error).__name__}: {first_line(error)}); check "
            "name and connection, or download the file and give its local path."
        ) from error
