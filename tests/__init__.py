"""Tests mirror the tree of what they test; `real` and `tiny` hold what several share."""

import os

# Set before torch is imported, also in processes that tests start: the models here are so small
# that a second thread only waits for the first, very long when a core is busy with something else.
os.environ.setdefault("OMP_NUM_THREADS", "1")
