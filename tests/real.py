"""The real benchmark, which the project may not hold: used where it lies beside the checkout."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "tests" / "sample"
REAL = ROOT.parent / "shared" / "data" / "senteval" / "downstream"
needs_real_data = pytest.mark.skipif(
    not REAL.is_dir(), reason="SentEval's data is not at ../shared/data/senteval/downstream"
)
