"""How a stage ends on the command line: its exit code, and one sentence for what can be explained.

What is not expected keeps its traceback.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable


def run_stage(
    name: str, function: Callable[[], None], interrupted: str = "nothing was written."
) -> int:
    """Run a stage.

    Args:
        name: begins the sentence on stderr.
        function: the stage.
        interrupted: what is said of what is left after Ctrl-C.

    Returns:
        0, or 1 for an error that is the input's or the machine's, or 130 for Ctrl-C.
    """
    if not gc.isenabled():
        gc.freeze()  # what was imported, also at the end
        gc.enable()
    try:
        function()
    except (ValueError, OSError) as error:
        return _end(name, str(error), 1)
    except torch.OutOfMemoryError as error:
        reason = str(error).splitlines()[0].rstrip(".")
        advice = "lower train.batch_size, or evaluate.batch_size if it was measuring."
        return _end(name, f"the device's memory is too small ({reason}); {advice}", 1)
    except KeyboardInterrupt:
        return _end(name, f"interrupted; {interrupted}", 130)
    return 0


def _end(name: str, sentence: str, code: int) -> int:
    sys.stderr.write(f"{name}: {sentence}\n")
    return code
