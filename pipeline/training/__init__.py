"""Parts of the training stage; the loop itself is pipeline/train.py."""
