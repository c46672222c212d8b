"""Features and labels that are drawn, for classifiers."""

from __future__ import annotations

import numpy as np

from pipeline.senteval.classifier import Method, Setting
from pipeline.senteval.softmax import Training

METHODS = {
    "adam": Method(
        Setting(3, Training("adam", batch_size=16, epoch_size=2, tenacity=2)), double=True
    ),
    "rmsprop": Method(
        Setting(4, Training("rmsprop", batch_size=32, epoch_size=1, tenacity=1)), double=True
    ),
}


def examples(count: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features in five dimensions and noisy classes of uneven sizes."""
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(count, 5)) + 0.3
    directions = np.linspace(-1, 1, 5 * classes).reshape(5, classes) ** 2
    noise = generator.normal(size=(count, classes))
    return features, (features @ directions + noise).argmax(axis=1)
