"""Batches of texts -> embeddings, and what becomes of texts that an encoder fails on."""

import logging

import numpy as np

from serve.batching.jobs import Item
from serve.encoders.exported import Embed, Embeddings, pad
from serve.encoders.registry import ServedEncoder
from serve.errors import ApiError

log = logging.getLogger("serve.batching.computing")


def compute(
    encoder: ServedEncoder, batch: list[Item], *, alone: bool
) -> list[Embeddings | ApiError]:
    """An embedding (D,) for each text; where the whole batch fails, each text is tried by itself.

    `alone`: nothing else is being computed, so all threads may be used.
    """
    backend = encoder.backend
    try:
        return list(_embed(encoder, batch, backend.embed_alone if alone else backend.embed))
    except Exception:
        log.exception("a batch of %d texts failed; each is tried by itself", len(batch))
        return [_embed_one(encoder, item) for item in batch]


def _embed(encoder: ServedEncoder, batch: list[Item], embed: Embed) -> Embeddings:
    """(N, D), all finite."""
    rows = [item.ids for item in batch]
    found = embed(*pad(rows, encoder.exported.description.padding_id))
    if not np.isfinite(found).all():
        raise FloatingPointError(f"{encoder.id}: an embedding is not finite")
    return found


def _embed_one(encoder: ServedEncoder, item: Item) -> Embeddings | ApiError:
    try:
        embedding: Embeddings = _embed(encoder, [item], encoder.backend.embed)[0]
    except Exception as error:
        log.exception("a text failed by itself")
        return fault(error)
    return embedding


def fault(error: Exception) -> ApiError:
    """What the client is told of a fault that is not its own."""
    kind = type(error).__name__
    return ApiError(
        500, "internal_error", f"the encoder failed ({kind}); the server's log has details."
    )
