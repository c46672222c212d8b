"""Losses of other libraries as losses of two views: how each kind wants a batch.

Labels are made where a library asks for them: a sentence's two views are of one class, all else
are of other classes. Nothing here imports those libraries but to make a loss that somebody named.
"""

import importlib
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from importlib import metadata
from typing import Any

import torch
from torch import Tensor, nn

from pipeline.machine.errors import InputError
from pipeline.machine.settings import unknown
from pipeline.objectives.anatomy import Loss

# What a loss of others gives is looked at where its gradient is taken.
Call = Callable[[Any, Tensor, Tensor], Any]


# Stands for a SentenceTransformer where embeddings are there already: features come back as given.
AS_GIVEN = nn.Sequential(nn.Identity())


def adapted(loss: Callable[..., Any]) -> Loss:
    """The loss as a function of two (N, D) views.

    What comes from no library below must take the two views itself.
    """
    classes = type(loss).__mro__
    for library, calls in CALLS.items():
        if any(base.__module__.split(".")[0] == library for base in classes):
            named = (calls[base.__name__] for base in classes if base.__name__ in calls)
            return partial(next(named, calls["others"]), loss)
    return loss


def named(loss: str, values: Mapping[str, Any], where: str = "loss") -> Loss:
    """The loss that `module:Class` or `module:function` names, with its keyword values.

    Raises:
        InputError: there is no such thing, or it does not take the values.
    """
    module_name, colon, name = loss.partition(":")
    if not (colon and module_name and name):
        raise InputError(f"{where}: expected module:Class or an objective's name, got {loss!r}.")
    try:
        module: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise InputError(
            f"{where}: {loss} cannot be imported ({error}); install what it needs: "
            "pip install 'triad-encoders[anatomy]' brings the libraries that docs/anatomy.md shows."
        ) from error
    attribute = getattr(module, name, None)
    if not callable(attribute):
        public = [
            attribute_name
            for attribute_name in dir(module)
            if callable(getattr(module, attribute_name)) and attribute_name[0] != "_"
        ]
        raise InputError(f"{where}: {unknown(f'loss of {module_name}', name, public)}")
    if not inspect.isclass(attribute):
        return partial(attribute, **values)
    needs_model = attribute.__module__.startswith("sentence_transformers.")
    try:
        instance: Any = attribute(**({"model": AS_GIVEN} if needs_model else {}), **values)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: {loss} does not take {dict(values)} ({error}).") from error
    return adapted(instance)


def library_version(loss: str) -> dict[str, str]:
    """The version of what a loss comes from, by its name; nothing where nothing was installed."""
    library = loss.partition(":")[0].partition(".")[0]
    elsewhere = ":" in loss and library != "pipeline"
    installed = metadata.packages_distributions().get(library, []) if elsewhere else []
    return {name: metadata.version(name) for name in dict.fromkeys(installed)}


def _classes(anchor: Tensor) -> Tensor:
    return torch.arange(len(anchor), device=anchor.device)


def _stacked(loss: Any, anchor: Tensor, positive: Tensor) -> Any:
    return loss(torch.cat([anchor, positive]))


def _listed(loss: Any, anchor: Tensor, positive: Tensor) -> Any:
    return loss([anchor, positive])


def _two_views(loss: Any, anchor: Tensor, positive: Tensor) -> Any:
    return loss(anchor, positive)


def _with_reference(loss: Any, anchor: Tensor, positive: Tensor) -> Any:
    return loss(anchor, ref_emb=positive)


def _of_classes(loss: Any, anchor: Tensor, positive: Tensor) -> Any:
    return loss(torch.cat([anchor, positive]), _classes(anchor).repeat(2))


def _columns(loss: Any, anchor: Tensor, positive: Tensor) -> Any:
    """Of (anchor, positive) rows; what holds its model as it is gets the embeddings past it."""
    if hasattr(loss, "compute_loss_from_embeddings"):
        return loss.compute_loss_from_embeddings([anchor, positive], None)
    return loss([{"sentence_embedding": view} for view in (anchor, positive)], None)


def _column_of_classes(loss: Any, anchor: Tensor, positive: Tensor) -> Any:
    both = torch.cat([anchor, positive])
    return loss.compute_loss_from_embeddings([both], _classes(anchor).repeat(2))


def _all_pairs(loss: Any, anchor: Tensor, positive: Tensor) -> Any:
    """All N^2 pairs of an anchor and a positive: 1 for a sentence's own, 0 for others."""
    rows = _classes(anchor)
    first, second = torch.cartesian_prod(rows, rows).unbind(dim=1)
    labels = (first == second).to(anchor.dtype)
    return loss.compute_loss_from_embeddings([anchor[first], positive[second]], labels)


def _all_triplets(loss: Any, anchor: Tensor, positive: Tensor) -> Any:
    """All N (N - 1) triplets of an anchor, its positive and the positive of another."""
    rows = _classes(anchor)
    first, second = torch.cartesian_prod(rows, rows).unbind(dim=1)
    first, second = first[first != second], second[first != second]
    columns = [anchor[first], positive[first], positive[second]]
    return loss.compute_loss_from_embeddings(columns, None)


# Library -> class, or a base of it -> how it wants a batch.
CALLS: dict[str, dict[str, Call]] = {
    "pytorch_metric_learning": {
        "VICRegLoss": _with_reference,
        "SelfSupervisedLoss": _with_reference,
        "others": _of_classes,
    },
    "sentence_transformers": {
        "ContrastiveLoss": _all_pairs,
        "OnlineContrastiveLoss": _all_pairs,
        "CosineSimilarityLoss": _all_pairs,
        "CoSENTLoss": _all_pairs,
        "TripletLoss": _all_triplets,
        "BatchAllTripletLoss": _column_of_classes,
        "BatchHardTripletLoss": _column_of_classes,
        "BatchSemiHardTripletLoss": _column_of_classes,
        "others": _columns,
    },
    "lightly": {"WMSELoss": _stacked, "FroSSLLoss": _listed, "others": _two_views},
}
