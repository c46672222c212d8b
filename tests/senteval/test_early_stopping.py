"""When classifiers that train together stop, which weights they keep, and who leaves."""

from __future__ import annotations

import numpy as np
import torch

from pipeline.senteval.early_stopping import EarlyStopping


def run(curves: list[list[list[float]]], tenacity: int) -> tuple[EarlyStopping, list[list[int]]]:
    """Plays accuracies [look][fold][strength]; weights are the number of the look.

    Returns:
        The final state and the folds that trained in each look.
    """
    table = np.array(curves)
    stopping = EarlyStopping(torch.zeros(*table.shape[1:], 1), tenacity)
    columns = np.tile(np.arange(table.shape[2]), (table.shape[1], 1))
    seen = []
    for look, accuracies in enumerate(table):
        if not stopping.training:
            break
        seen.append(stopping.folds.tolist())
        accuracy = accuracies[stopping.folds[:, None], columns]
        staying = stopping.look(torch.full((*accuracy.shape, 1), float(look)), accuracy)
        if staying is not None:
            columns = columns[staying]
    return stopping, seen


def test_training_ends_once_more_looks_than_the_tenacity_have_failed_in_all() -> None:
    """With tenacity 1, failures at looks 1 and 3 end it although look 2 was a new best."""
    stopping, seen = run([[[0.5]], [[0.5]], [[0.6]], [[0.6]], [[0.9]]], tenacity=1)
    assert len(seen) == 4
    assert stopping.accuracy.tolist() == [[0.6]]


def test_the_weights_of_the_best_look_are_kept() -> None:
    stopping, _ = run([[[0.5]], [[0.7]], [[0.6]], [[0.7]]], tenacity=5)
    assert stopping.weights.tolist() == [[[1.0]]]


def test_a_look_that_only_equals_the_best_is_a_failure() -> None:
    stopping, seen = run([[[0.5]], [[0.5]], [[0.9]]], tenacity=0)
    assert len(seen) == 2
    assert stopping.weights.tolist() == [[[0.0]]]


def test_an_accuracy_of_zero_is_better_than_none() -> None:
    stopping, _ = run([[[0.0]], [[0.0]]], tenacity=0)
    assert stopping.accuracy.tolist() == [[0.0]]


def test_a_fold_leaves_when_all_its_classifiers_have_finished() -> None:
    curves = [
        [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]],
        [[0.6, 0.5], [0.5, 0.5], [0.6, 0.6]],
        [[0.6, 0.9], [0.9, 0.9], [0.7, 0.6]],
        [[0.9, 0.9], [0.9, 0.9], [0.7, 0.9]],
    ]
    stopping, seen = run(curves, tenacity=0)
    assert seen == [[0, 1, 2], [0, 1, 2], [0, 2], [2]]
    assert stopping.accuracy.tolist() == [[0.6, 0.5], [0.5, 0.5], [0.7, 0.6]]
    assert stopping.weights[..., 0].tolist() == [[1.0, 0.0], [0.0, 0.0], [2.0, 1.0]]


def test_finished_classifiers_are_squeezed_out_whichever_strengths_they_had() -> None:
    """One of two strengths finishes in each fold, not the same one: a single column is left."""
    stopping, _ = run([[[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.6], [0.6, 0.5]]], tenacity=0)
    accuracy = np.array([[0.8], [0.7]])
    assert stopping.look(torch.full((2, 1, 1), 2.0), accuracy) is None
    assert stopping.accuracy.tolist() == [[0.5, 0.8], [0.7, 0.5]]
