"""Scores of the seven transfer tasks: how well a linear classifier does on frozen embeddings."""

from dataclasses import dataclass

import numpy as np

from pipeline.machine.errors import InputError
from pipeline.senteval.classifier import classify
from pipeline.senteval.known import Label
from pipeline.senteval.similarity import Encode, embed
from pipeline.senteval.softmax import Setting
from pipeline.senteval.tasks import TransferData

# Embeddings that are equal up to rounding in float32 differ by about 1e-7 of their size.
COLLAPSED_RANGE = 1e-6


@dataclass(frozen=True)
class TransferScore:
    """One task's scores in percent."""

    task: str
    accuracy: float  # on the tested rows
    dev_accuracy: float  # of the chosen decay, on the rows that chose it
    f1: float | None  # of class 1 on the tested rows, for MRPC only
    weight_decays: tuple[float, ...]  # the chosen ones, one for each outer fold
    counts: dict[str, int]  # rows in each part
    label: Label  # whether the data is the published benchmark

    @property
    def score(self) -> float:
        """What is reported and averaged."""
        return self.accuracy


def score_transfer(encode: Encode, data: TransferData, setting: Setting) -> TransferScore:
    """Encodes a task's sentences, then trains and scores classifiers on them.

    Raises:
        InputError: Too few rows of a class for the folds, or embeddings that are not finite or all
            alike.
    """
    features = transfer_features(encode, data)
    labels = {part: examples.labels for part, examples in data.parts.items()}
    try:
        outcome = classify(features, labels, setting)
    except ValueError as error:
        raise InputError(f"{data.task}: {error}") from error
    return TransferScore(
        task=data.task,
        accuracy=outcome.accuracy,
        dev_accuracy=outcome.dev_accuracy,
        f1=_f1(outcome.predictions[0], labels["test"]) if data.task == "MRPC" else None,
        weight_decays=outcome.weight_decays,
        counts={part: len(examples) for part, examples in data.parts.items()},
        label=data.label,
    )


def transfer_features(encode: Encode, data: TransferData) -> dict[str, np.ndarray]:
    """Features (N, D) of each part: embeddings, or |u - v| beside u * v of pairs.

    Each distinct sentence is encoded once; shorter ones first, so that batches need little padding.
    """
    sides = [side for examples in data.parts.values() for side in examples.sentences]
    distinct = sorted(
        {sentence for side in sides for sentence in side}, key=lambda text: (len(text), text)
    )
    embeddings = embed(encode, distinct, data.task)
    if np.ptp(embeddings, axis=0).max() <= COLLAPSED_RANGE * np.abs(embeddings).max():
        raise InputError(
            f"{data.task}: the embeddings of all {len(distinct)} sentences are the same; "
            "the encoder has collapsed: train it again."
        )
    index = {sentence: k for k, sentence in enumerate(distinct)}
    features = {}
    for part, examples in data.parts.items():
        first, *second = ([index[sentence] for sentence in side] for side in examples.sentences)
        features[part] = u = embeddings[first]
        if second:
            v = embeddings[second[0]]
            features[part] = np.concatenate([np.abs(u - v), u * v], axis=1)
    return features


def _f1(predictions: np.ndarray, labels: np.ndarray) -> float:
    """2 TP / (2 TP + FP + FN) of class 1, in percent."""
    predicted, true = predictions == 1, labels == 1
    marked = int(predicted.sum() + true.sum())
    return round(200 * int((predicted & true).sum()) / marked, 2) if marked else 0.0
