"""Command: start the service with BentoML.

    python -m serve --host 0.0.0.0 --port 8000

The options are those of `bentoml serve`. The service reads params.yaml of the folder that it is
started in, or the file that TRIAD_PARAMS names.
"""

import os
import sys

from serve.installed import is_installed


def main() -> None:
    """Become `bentoml serve serve.service:TriadService`, or say that BentoML is absent."""
    if not is_installed("bentoml"):
        raise SystemExit(
            "serve: BentoML is absent; install it with: pip install 'triad-encoders[serve]'."
        )
    command = [sys.executable, "-m", "bentoml", "serve", "serve.service:TriadService"]
    os.execv(sys.executable, [*command, *sys.argv[1:]])  # noqa: S606 - the same program's name


if __name__ == "__main__":
    main()
