"""SentEval's transfer protocol, one classifier after the other: what the batched one must equal.

Written from the description of the protocol and for reading, not for speed: global seeds, autograd,
torch's optimizers. Needs numpy, torch and scikit-learn only; nothing from `pipeline`.
"""

import copy
from dataclasses import dataclass, field

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold

STRENGTHS = (1e-5, 1e-4, 1e-3, 1e-2)


@dataclass(frozen=True)
class Protocol:
    folds: int = 10
    optimizer: str = "adam"
    batch_size: int = 64
    patience: int = 5
    epoch_size: int = 4
    seed: int = 1111
    dtype: torch.dtype = torch.float32


TEST = Protocol()
FAST = Protocol(folds=5, optimizer="rmsprop", batch_size=128, patience=3, epoch_size=2)


@dataclass
class Outcome:
    accuracy: float
    dev_accuracy: float
    strengths: list[float] = field(default_factory=list)
    predictions: list[np.ndarray] = field(default_factory=list)


class Classifier:
    def __init__(self, protocol: Protocol, features: int, classes: int, strength: float) -> None:
        np.random.seed(protocol.seed)  # noqa: NPY002
        torch.manual_seed(protocol.seed)
        self.protocol = protocol
        self.model = torch.nn.Linear(features, classes).to(protocol.dtype)
        optimizers = {"adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop}
        optimizer = optimizers[protocol.optimizer]
        self.optimizer = optimizer(self.model.parameters(), weight_decay=strength)

    def fit(
        self,
        x: np.ndarray,
        y: np.ndarray,
        dev: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        if dev is None:
            order = np.random.permutation(len(x))  # noqa: NPY002
            held_out = order[: int(0.05 * len(x))]
            x_dev, y_dev = x[held_out], y[held_out]
            rest = order[int(0.05 * len(x)) :]
            x, y = x[rest], y[rest]
        else:
            x_dev, y_dev = dev
        features, labels = torch.from_numpy(x).to(self.protocol.dtype), torch.from_numpy(y)
        best, failures, epochs = -1.0, 0, 0
        while epochs <= 200:
            for _ in range(self.protocol.epoch_size):
                self._epoch(features, labels)
            epochs += self.protocol.epoch_size
            accuracy = self.score(x_dev, y_dev)
            if accuracy > best:
                best, model = accuracy, copy.deepcopy(self.model)
            else:
                failures += 1
                if failures > self.protocol.patience:
                    break
        self.model = model

    def _epoch(self, x: torch.Tensor, y: torch.Tensor) -> None:
        order = torch.from_numpy(np.random.permutation(len(x)))  # noqa: NPY002
        for start in range(0, len(x), self.protocol.batch_size):
            rows = order[start : start + self.protocol.batch_size]
            loss = torch.nn.functional.cross_entropy(self.model(x[rows]), y[rows])
            self.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()

    def predict(self, x: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            logits = self.model(torch.from_numpy(x).to(self.protocol.dtype))
        predictions: np.ndarray = logits.argmax(dim=1).numpy()
        return predictions

    def score(self, x: np.ndarray, y: np.ndarray) -> float:
        return float((self.predict(x) == y).mean())


def _folds(x: np.ndarray, y: np.ndarray, protocol: Protocol) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(StratifiedKFold(protocol.folds, shuffle=True, random_state=1111).split(x, y))


def _classifier(protocol: Protocol, x: np.ndarray, y: np.ndarray, strength: float) -> Classifier:
    return Classifier(protocol, x.shape[1], int(y.max()) + 1, strength)


def _grid(x: np.ndarray, y: np.ndarray, protocol: Protocol) -> tuple[float, float]:
    """The best strength by cross-validation, and its score."""
    scores = []
    for strength in STRENGTHS:
        accuracies = []
        for train, dev in _folds(x, y, protocol):
            classifier = _classifier(protocol, x, y, strength)
            classifier.fit(x[train], y[train], (x[dev], y[dev]))
            accuracies.append(classifier.score(x[dev], y[dev]))
        scores.append(round(100 * float(np.mean(accuracies)), 2))
    return STRENGTHS[int(np.argmax(scores))], max(scores)


def nested(
    x: np.ndarray, y: np.ndarray, protocol: Protocol, outer_folds: int | None = None
) -> Outcome:
    """Cross-validation within each outer fold's training part (MR, CR, SUBJ, MPQA)."""
    outcome, dev, test = Outcome(0, 0), [], []
    for train, held_out in _folds(x, y, protocol)[:outer_folds]:
        strength, best = _grid(x[train], y[train], protocol)
        classifier = _classifier(protocol, x, y, strength)
        classifier.fit(x[train], y[train])
        test.append(round(100 * classifier.score(x[held_out], y[held_out]), 2))
        dev.append(best)
        outcome.strengths.append(strength)
        outcome.predictions.append(classifier.predict(x[held_out]))
    outcome.accuracy = round(float(np.mean(test)), 2)
    outcome.dev_accuracy = round(float(np.mean(dev)), 2)
    return outcome


def cross_validated(
    train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray], protocol: Protocol
) -> Outcome:
    """Cross-validation on the training rows, then a fit on all of them (TREC, MRPC)."""
    strength, dev = _grid(*train, protocol)
    classifier = _classifier(protocol, *train, strength)
    classifier.fit(*train)
    accuracy = round(100 * classifier.score(*test), 2)
    return Outcome(accuracy, dev, [strength], [classifier.predict(test[0])])


def validated(
    train: tuple[np.ndarray, np.ndarray],
    dev: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    protocol: Protocol,
) -> Outcome:
    """The given validation rows choose the strength and when to stop (SST2)."""
    scores = []
    for strength in STRENGTHS:
        classifier = _classifier(protocol, *train, strength)
        classifier.fit(*train, dev)
        scores.append(round(100 * classifier.score(*dev), 2))
    strength = STRENGTHS[int(np.argmax(scores))]
    classifier = _classifier(protocol, *train, strength)
    classifier.fit(*train, dev)
    accuracy = round(100 * classifier.score(*test), 2)
    return Outcome(accuracy, max(scores), [strength], [classifier.predict(test[0])])
