"""What is told about a served encoder: how it was trained, how it scores, how it computes.

Joins the encoder's record (triad.json), the pipeline's metrics (by version) and the backend. Not
here: encoders that are trained but not served.
"""

from pathlib import Path
from typing import Any

from serve.encoders.registry import ServedEncoder, read_object
from serve.errors import ApiError


def card(encoder: ServedEncoder, metrics: Path) -> dict[str, Any]:
    """OpenAI's model object with what is known besides; null where the folder does not say."""
    description = encoder.description
    record = encoder.record or {}
    measured = _measured(encoder, metrics) or {}
    sts = {task: score.get("spearman") for task, score in measured.get("sts", {}).items()}
    return {
        "id": encoder.id,
        "object": "model",
        "created": encoder.created,
        "owned_by": "triad",
        "version": encoder.version,
        "dimension": description.dimension,
        "dimensions": list(description.dimensions),
        "max_length": description.max_length,
        "pooling": description.pooling,
        "normalized": description.normalize,
        "prompts": description.prompts,
        "default_prompt": description.default_prompt,
        "objective": record.get("objective"),
        "hyperparameters": record.get("hyperparameters"),
        "seed": record.get("seed"),
        "backbone": record.get("backbone"),
        "training_data": record.get("data"),
        "sts": sts or None,
        "sts_average": measured.get("average"),
        "sts_average_label": measured.get("average_label"),
        "sts_data": measured.get("data"),
        "cosine_quantiles": measured.get("cosine_quantiles"),
        "backend": encoder.backend.name,
        "agreement": round(encoder.backend.agreement, 6),
    }


def training(encoder: ServedEncoder) -> dict[str, Any]:
    """The training curve and settings.

    Raises:
        ApiError: 404, for an encoder that Triad did not train.
    """
    record = encoder.record
    if record is None or "curve" not in record:
        raise ApiError(
            404,
            "no_training_record",
            f"model: {encoder.id!r} has no training record; only encoders that Triad trained do.",
            "model",
        )
    keys = ("objective", "hyperparameters", "seed", "training", "hardware", "steps", "kept", "best")
    head = {"object": "training", "model": encoder.id, "version": encoder.version}
    return head | {key: record.get(key) for key in keys} | {"curve": record["curve"]}


def results(file: Path) -> dict[str, Any]:
    """The pipeline's comparison table.

    Raises:
        ApiError: 404, before there is one.
    """
    content = read_object(file)
    if content is None:
        raise ApiError(
            404, "no_results", f"results: there is no {file.name} yet; `make repro` makes it."
        )
    return {"object": "results"} | content


def _measured(encoder: ServedEncoder, metrics: Path) -> dict[str, Any] | None:
    """The metrics of exactly this version; others with the encoder's name say nothing about it.

    They lie among the pipeline's, or beside the folder of an encoder that is brought along.
    """
    beside = encoder.folder.with_name(f"{encoder.folder.name}.json")
    files = (read_object(file) for file in [beside, *sorted(metrics.rglob("*.json"))])
    version = encoder.version
    return next((found for found in files if found and found.get("version") == version), None)
