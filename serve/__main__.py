"""Command: start the service with BentoML.

    python -m serve --host 0.0.0.0 --port 8000

The options are those of `bentoml serve`. The service reads params.yaml of the folder that it is
started in, or the file that TRIAD_PARAMS names.
"""

import os
import sys
from pathlib import Path


def main() -> None:
    """Become `bentoml serve serve.service:TriadService`, or say that BentoML is absent."""
    program = Path(sys.executable).with_name("bentoml")
    if not program.is_file():
        raise SystemExit(
            f"serve: {program} is not there; install it with: pip install 'triad-encoders[serve]'."
        )
    command = [str(program), "serve", "serve.service:TriadService", *sys.argv[1:]]
    os.execv(program, command)  # noqa: S606 - the same program under its own name


if __name__ == "__main__":
    main()
