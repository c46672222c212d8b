"""From sentences to trained, measured and compared encoders; one module a stage."""

import gc
import sys

# Of the seconds in which `python -m pipeline.STAGE` starts, the collector would take a fifth: it
# looks again and again at what is imported, all of which stays. `stage.run_stage` turns it on.
if sys.argv[:1] == ["-m"]:  # so it reads while Python looks for the module
    gc.disable()
