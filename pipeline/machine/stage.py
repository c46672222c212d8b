"""How a stage begins and ends on the command line: its options, its exit code, one sentence.

What is not expected keeps its traceback.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from pipeline.machine.errors import OtherProcessError, first_line

if TYPE_CHECKING:
    from collections.abc import Callable


def parser(module: str, description: str | None) -> argparse.ArgumentParser:
    """A parser for `python -m MODULE`, whose help shows the module's docstring as it is."""
    return argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def whole_number(at_least: int, at_most: int | None = None) -> Callable[[str], int]:
    """The type of an option that takes a whole number in this range."""
    allowed = f"from {at_least} on" if at_most is None else f"from {at_least} to {at_most}"

    def read(text: str) -> int:
        number = int(text) if text.isdecimal() else -1
        if number < at_least or (at_most is not None and number > at_most):
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number {allowed}")
        return number

    return read


def text_or_null(text: str) -> str | None:
    """The type of an option that takes a setting of params.yaml: DVC writes null as None."""
    return None if text == "None" else text


def run_stage(
    name: str,
    stage: Callable[[argparse.Namespace], None],
    options: argparse.Namespace,
    interrupted: str = "nothing was written.",
) -> int:
    """Run a stage.

    Args:
        name: begins the sentence on stderr.
        stage: takes the options.
        options: of the command line.
        interrupted: what is said of what is left after Ctrl-C.

    Returns:
        0, or 1 for an error that is the input's or the machine's, or 130 for Ctrl-C.
    """
    try:
        stage(options)
    except (ValueError, OSError) as error:
        return _end(name, str(error), 1)
    except OtherProcessError:
        return 1
    except KeyboardInterrupt:
        return _end(name, f"interrupted; {interrupted}", 130)
    except RuntimeError as error:
        if not _is_out_of_memory(error):
            raise
        advice = "lower train.batch_size, or evaluate.batch_size if it was measuring."
        return _end(name, f"the device's memory is too small ({first_line(error)}); {advice}", 1)
    return 0


def _is_out_of_memory(error: RuntimeError) -> bool:
    torch = sys.modules.get("torch")  # stages that compute nothing do without it
    return torch is not None and isinstance(error, torch.OutOfMemoryError)


def _end(name: str, sentence: str, code: int) -> int:
    sys.stderr.write(f"{name}: {sentence}\n")
    return code
