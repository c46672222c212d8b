"""The components of an objective's gradient for a batch of sentences, asked of pipeline.objectives.

torch is imported on first use: serving needs none. Everything here is slow, so it is called on a
thread. Not here: the request (contract.py) and the route (api/routes.py).
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.encoder.vectors import pad
from pipeline.encoder.version import folder_version
from pipeline.machine.settings import check, unknown
from serve.encoders.registry import ServedEncoder
from serve.errors import ApiError, invalid
from serve.installed import is_installed

if TYPE_CHECKING:
    from torch import Tensor

    from pipeline.encoder.encoder import SentenceEncoder
    from pipeline.objectives import Objective

# Losses of others by name, each with its values and its repair, as params.yaml has them.
Losses = Mapping[str, Mapping[str, Any]]


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


def list_objectives(losses: Losses) -> list[dict[str, Any]]:
    """Ours, then those of `losses` whose library is installed, with what may be changed of each."""
    from pipeline.objectives import OBJECTIVES  # noqa: PLC0415 - brings torch

    ours = {
        name: (None, objective().hyperparameters.model_dump())
        for name, objective in OBJECTIVES.items()
    }
    foreign = {
        name: (settings["loss"], changeable(settings))
        for name, settings in losses.items()
        if is_installed(settings["loss"].partition(":")[0].partition(".")[0])
    }
    return [
        {"id": name, "object": "objective", "loss": loss, "hyperparameters": values}
        for name, (loss, values) in (ours | foreign | ours).items()
    ]


def choose_objective(
    encoder: ServedEncoder, name: str | None, changes: Mapping[str, Any] | None, losses: Losses
) -> tuple[str, "Objective"]:
    """An objective's name and the objective: the encoder's own unless another one is named.

    `changes` are hyperparameters that differ from the encoder's record, or from the usual ones
    where the objective is another than the encoder's. A record is no reason to import what
    `losses` does not name: the folder may come from anywhere.

    Raises:
        ApiError: 400, for an objective or a hyperparameter that there is not, or a wrong value.
    """
    from pipeline.objectives import OBJECTIVES  # noqa: PLC0415 - brings torch

    record = encoder.record or {}
    own = record.get("variant_of") or record.get("objective")
    choice = name or own
    choices = list(dict.fromkeys([*OBJECTIVES, *losses]))
    if choice is None:
        raise invalid(
            "objective",
            f"objective: {encoder.id} was not trained here, so give one of {', '.join(choices)}.",
        )
    settings = (record.get("hyperparameters") or {}) if choice == own else {}
    loss = settings.get("loss")
    if choice in OBJECTIVES:
        fields: Collection[str] = OBJECTIVES[choice].hyperparameters.model_fields
    elif loss in OBJECTIVES or any(loss == entry["loss"] for entry in losses.values()):
        fields = changeable(settings)
    elif choice in losses:
        settings = losses[choice]
        fields = changeable(settings)
    elif loss is not None:
        raise invalid(
            "objective",
            f"objective: {encoder.id} was trained with {str(loss)[:100]}, which serve.losses of "
            f"params.yaml does not name; name it there, or give one of {', '.join(choices)}.",
        )
    else:
        raise invalid("objective", f"objective: {unknown('objective', choice[:100], choices)}")
    for field in changes or {}:
        if field not in fields:
            raise invalid(
                "hyperparameters",
                f"hyperparameters: {choice} has no {field[:100]!r}; it has "
                f"{', '.join(fields) or 'none'}.",
            )
    try:
        if choice in OBJECTIVES:
            return choice, OBJECTIVES[choice](**{**settings, **(changes or {})})
        return choice, _loss_of_others(choice, settings, changes or {})
    except Exception as error:  # libraries raise what they like about their values
        reason = str(error).partition("\n")[0][:300].rstrip(".") or type(error).__name__
        raise invalid("hyperparameters", f"hyperparameters: {reason}.") from error


def changeable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers and words of a loss of others, and of its repair: `repair.margin` and so on."""
    from pipeline.objectives.foreign import Repair  # noqa: PLC0415 - brings torch

    repair = settings.get("repair")
    repairs = {} if repair is None else Repair().model_dump() | repair
    own = {
        name: value
        for name, value in settings.items()
        if name != "loss" and isinstance(value, int | float | str) and not isinstance(value, bool)
    }
    return own | {f"repair.{name}": value for name, value in repairs.items()}


def _loss_of_others(
    name: str, settings: Mapping[str, Any], changes: Mapping[str, Any]
) -> "Objective":
    """The objective, with changes as `changeable` names them.

    Raises:
        ValueError: the loss does not take a value.
    """
    from pipeline.objectives.foreign import Foreign, foreign  # noqa: PLC0415 - brings torch

    content = dict(settings)
    for field, value in changes.items():
        if field.startswith("repair."):
            content["repair"] = {**content["repair"], field.removeprefix("repair."): value}
        elif isinstance(value, str) != isinstance(content[field], str):
            kind = "a word" if isinstance(content[field], str) else "a number"
            raise ValueError(f"{name}.{field}: expected {kind}, got {value!r}.")
        else:
            content[field] = value
    if problems := check(Foreign, content, name):
        raise ValueError(" ".join(problems))
    return foreign(name, content)


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
        first, second = (torch.cat([loaded.embed(*part) for part in passes]) for _ in range(2))
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
    formula = objective.views(anchor, positive)
    views = Views(l2_normalize(formula.anchor), l2_normalize(formula.positive))
    lengths = gradient.norm(dim=1)
    mean = lengths[lengths > 0].mean() if bool((lengths > 0).any()) else 1.0
    moved = l2_normalize(views.anchor - size / mean * gradient)
    negatives = l2_normalize(objective.pieces(formula).negatives(formula))
    near = views.anchor @ negatives.T
    near.fill_diagonal_(-torch.inf)
    before, hardest = near.max(dim=1)
    answer = {
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
    return {"hyperparameters": objective.hyperparameters.model_dump(), **_arrays(answer)}


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
