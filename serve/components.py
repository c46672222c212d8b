"""The components of an objective's gradient for a batch of sentences, asked of pipeline.objectives.

torch is imported on first use: serving needs none. Everything here is slow, so it is called on a
thread. Not here: the request (contract.py) and the route (api/components.py).
"""

import difflib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.encoder.vectors import pad
from pipeline.encoder.version import folder_version
from serve.encoders.cards import training_record
from serve.encoders.registry import ServedEncoder
from serve.errors import ApiError, invalid
from serve.installed import is_installed

if TYPE_CHECKING:
    from torch import Tensor

    from pipeline.encoder.encoder import SentenceEncoder
    from pipeline.objectives import Objective


def check_torch() -> None:
    """Refuse where there is no torch.

    Raises:
        ApiError: 501.
    """
    if not is_installed("torch", "transformers"):
        raise ApiError(
            501,
            "torch_missing",
            "this service has no torch, which takes gradients apart; install torch and "
            "transformers beside it.",
        )


def choose_objective(
    encoder: ServedEncoder, name: str | None, changes: Mapping[str, Any] | None
) -> tuple[str, "Objective"]:
    """An objective's name and the objective: the encoder's own unless another one is named.

    `changes` are hyperparameters that differ from the encoder's record, or from the usual ones
    where the objective is another than the encoder's.

    Raises:
        ApiError: 400, for an objective or a hyperparameter that there is not, or a wrong value.
    """
    from pipeline.objectives import OBJECTIVES  # noqa: PLC0415 - brings torch

    record = training_record(encoder) or {}
    own = record.get("variant_of") or record.get("objective")
    wanted = name or own
    if wanted is None:
        raise invalid(
            "objective",
            f"objective: {encoder.id} was not trained here, so give one of "
            f"{', '.join(OBJECTIVES)}.",
        )
    if wanted not in OBJECTIVES:
        near = difflib.get_close_matches(wanted[:100], OBJECTIVES, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise invalid(
            "objective",
            f"objective: unknown objective {wanted[:100]!r}; {hint}Known: {', '.join(OBJECTIVES)}.",
        )
    recorded = (record.get("hyperparameters") or {}) if wanted == own else {}
    fields = OBJECTIVES[wanted].hyperparameters.model_fields
    for field in changes or {}:
        if field not in fields:
            known = ", ".join(fields) or "none"
            raise invalid(
                "hyperparameters",
                f"hyperparameters: {wanted} has no {field[:100]!r}; it has {known}.",
            )
    try:
        return wanted, OBJECTIVES[wanted](**{**recorded, **(changes or {})})
    except (TypeError, ValueError) as error:
        raise invalid("hyperparameters", f"hyperparameters: {error}") from error


def dropout_views(
    encoder: ServedEncoder, rows: Sequence[list[int]], seed: int, batch_tokens: int
) -> tuple["Tensor", "Tensor"]:
    """Two views of sentences under dropout, as training has them; the same for the same seed.

    Not to be called on several threads at once: the seed is set for the whole process.

    Args:
        encoder: whose folder is read, in torch.
        rows: token ids of N sentences.
        seed: of the dropout.
        batch_tokens: most tokens of a pass through the encoder, padding included.

    Returns:
        Embeddings (N, D), pooled and not normalized, twice.

    Raises:
        ApiError: 503, where the encoder's folder is not what is served.
    """
    import torch  # noqa: PLC0415 - on first use

    padded = pad(rows, encoder.description.padding_id)
    ids, mask = (torch.from_numpy(part) for part in padded)
    size = max(1, batch_tokens // ids.shape[1])  # texts of a pass
    passes = list(zip(torch.split(ids, size), torch.split(mask, size), strict=True))
    loaded = _load(encoder.id, encoder.folder, encoder.version)
    loaded.model.train()
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        torch.manual_seed(seed)
        first, second = (torch.cat([loaded.embed(*some) for some in passes]) for _ in range(2))
    return first.clone(), second.clone()


@lru_cache(maxsize=2)
def _load(name: str, folder: Path, version: str) -> "SentenceEncoder":
    from serve.encoders.torch_backend import load_encoder  # noqa: PLC0415 - brings torch

    # It may have been trained anew a moment ago, or be gone.
    if folder_version(folder) != version:
        raise ApiError(
            503,
            "loading",
            f"model: the folder of {name} is no longer what is served; try again when it is "
            "loaded, or give positives.",
            "model",
        )
    return load_encoder(folder)


def take_apart(
    objective: "Objective", anchor: "Tensor", positive: "Tensor", size: float
) -> dict[str, Any]:
    """The three components, the cosines behind them, and what a step does to these.

    The step leads each anchor against its gradient, on the sphere. All gradients are scaled alike,
    since objectives differ in theirs by orders: the mean length of those that are not zero is
    `size`.

    Args:
        objective: whose gradient it is.
        anchor: (N, D) embeddings.
        positive: (N, D).
        size: mean length of the steps of the anchors that are moved at all.

    Returns:
        What POST /v1/components answers, as arrays.
    """
    import torch  # noqa: PLC0415 - on first use

    from pipeline.objectives.views import Views, l2_normalize  # noqa: PLC0415 - brings torch

    # In float64, so that no hyperparameter leaves the numbers' range.
    anchor, positive = anchor.double(), positive.double()
    components = objective.components(anchor, positive)
    gradient = objective.anchor_gradient(anchor, positive)
    # What the formulas speak of: the textbook Barlow Twins' embeddings are batch-normalized.
    spoken = objective.views(anchor, positive)
    views = Views(l2_normalize(spoken.anchor), l2_normalize(spoken.positive))
    lengths = gradient.norm(dim=1)
    mean = lengths[lengths > 0].mean() if bool((lengths > 0).any()) else 1.0
    moved = l2_normalize(views.anchor - size / mean * gradient)
    negatives = l2_normalize(objective.pieces(spoken).negatives(spoken))
    near = views.anchor @ negatives.T
    near.fill_diagonal_(-torch.inf)
    before, hardest = near.max(dim=1)
    found = {
        "cosines": views.cosine.clamp(-1, 1),
        "own_cosines": views.anchor_similarity.clamp(-1, 1),
        **components._asdict(),
        "step": {
            "size": size,
            "positive": {
                "before": views.aligned,
                "after": (moved * views.positive).sum(dim=1),
            },
            "hardest_negative": {
                "index": hardest,
                "before": before,
                "after": (moved * negatives[hardest]).sum(dim=1),
            },
        },
    }
    return {"hyperparameters": objective.hyperparameters.model_dump(), **_arrays(found)}


def _arrays(content: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors as numpy arrays, at any depth."""
    return {
        name: _arrays(value)
        if isinstance(value, Mapping)
        else (value.float() if value.is_floating_point() else value).contiguous().numpy()
        if hasattr(value, "numpy")
        else value
        for name, value in content.items()
    }
