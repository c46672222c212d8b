"""What `benchmarks/train_step.py` times, counts and prints.

Our step, the same model in plain loops and in the sentence-transformers trainer, the arithmetic of
a step and the device's peak, and the reports. Nothing here needs more than the training stage
does, but for the trainer, which is left out where its packages are missing.
"""
