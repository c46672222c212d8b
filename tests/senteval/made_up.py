"""Features and labels that are drawn, for classifiers."""

import numpy as np

from pipeline.senteval.softmax import Setting

ADAM = Setting(folds=3, optimizer="adam", batch_size=16, epoch_size=2, patience=2, double=True)
RMSPROP = Setting(
    folds=4, optimizer="rmsprop", batch_size=32, epoch_size=1, patience=1, double=True
)


def examples(count: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features in five dimensions and noisy classes of uneven sizes."""
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(count, 5)) + 0.3
    directions = np.linspace(-1, 1, 5 * classes).reshape(5, classes) ** 2
    noise = generator.normal(size=(count, classes))
    return features, (features @ directions + noise).argmax(axis=1)
