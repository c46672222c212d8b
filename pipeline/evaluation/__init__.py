"""Parts of the evaluation stage; the stage itself is pipeline/evaluate.py."""
