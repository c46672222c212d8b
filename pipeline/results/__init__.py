"""Parts of the comparison stage; the stage itself is pipeline/compare.py."""
