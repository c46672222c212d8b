"""Jobs' inputs -> token ids that their encoders take, or the sentence that says why not.

Not here: what an input may be at all (contract.py).
"""

import logging
from collections.abc import Callable, Sequence

from serve.batching.jobs import Job
from serve.encoders.registry import ServedEncoder
from serve.errors import ApiError, encoder_failed, invalid, over_limit

log = logging.getLogger("serve.batching.tokenizing")

# Characters that a thread tokenizes before it looks whether something else is more urgent.
SLICE = 1 << 16


def tokenize_some(jobs: Sequence[Job]) -> list[ApiError | None]:
    """Tokenize about `SLICE` characters more of each job; the errors of those that have one.

    The texts of all jobs of one encoder go to its tokenizer together: each call of it costs as much
    as a text, and Python's lock. If it fails, each job is tried by itself.
    """
    errors: dict[Job, ApiError | None] = {}
    for encoder in {job.encoder for job in jobs}:
        group = {job: next_part(job) for job in jobs if job.encoder is encoder}
        texts = [
            job.prompt + text
            for job, part in group.items()
            for text in part
            if isinstance(text, str)
        ]
        try:
            encoded = iter(encoder.tokenizer.encode(texts))
        except Exception as error:
            if len(group) > 1:
                errors |= {job: tokenize_some([job])[0] for job in group}
                continue
            log.exception("tokenizing failed")
            errors |= dict.fromkeys(group, encoder_failed(error))
            continue
        for job, part in group.items():
            try:
                _extend(
                    job, part, [next(encoded) if isinstance(item, str) else item for item in part]
                )
            except ApiError as error:
                errors[job] = error
    return [errors.get(job) for job in jobs]


def next_part(job: Job) -> list[str | list[int]]:
    """The job's next inputs, at least one and about `SLICE` characters."""
    start = end = len(job.rows)
    characters = 0
    while end < len(job.inputs) and characters < SLICE:
        characters += len(job.inputs[end])
        end += 1
    return job.inputs[start:end]


def _extend(job: Job, part: list[str | list[int]], rows: list[list[int]]) -> None:
    """Add a part's token ids, special ones included or a client's own, to those of its job.

    Raises:
        ApiError: an input cannot be encoded as the request wants it.
    """
    for index, (item, row) in enumerate(zip(part, rows, strict=True), len(job.rows)):
        name = job.names(index)
        whole = row if isinstance(item, str) else _complete(job.encoder, row, name)
        short = _fit(job.encoder, whole, name, truncate=job.truncate)
        job.rows.append(short)
        job.truncated.append(len(short) < len(whole))
    _check_tokens(job.rows, job.names, job.most_tokens)


def tokenize(
    encoder: ServedEncoder,
    texts: Sequence[str],
    names: Callable[[int], str],
    *,
    truncate: bool,
    most_tokens: int,
) -> tuple[list[list[int]], list[bool]]:
    """Token ids of a few texts at once, outside of any batch, and whether each was cut.

    Raises:
        ApiError: a text is too long and may not be cut, or all have more than `most_tokens`.
    """
    prompt = encoder.prompt(None)
    rows = encoder.tokenizer.encode([prompt + text for text in texts])
    short = [_fit(encoder, row, names(index), truncate=truncate) for index, row in enumerate(rows)]
    _check_tokens(short, names, most_tokens)
    return short, [len(cut) < len(row) for cut, row in zip(short, rows, strict=True)]


def _check_tokens(rows: Sequence[list[int]], names: Callable[[int], str], most: int) -> None:
    """Refuse more tokens than one request may have."""
    total = sum(map(len, rows))
    if total > most:
        raise over_limit(
            names(0).partition("[")[0],
            "tokens",
            most,
            f"the first {len(rows)} texts have {total} tokens",
            "divide the request",
        )


def _fit(encoder: ServedEncoder, row: list[int], name: str, *, truncate: bool) -> list[int]:
    tokenizer = encoder.tokenizer
    if len(row) > tokenizer.max_length and not truncate:
        raise ApiError(
            400,
            "context_length_exceeded",
            f"{name}: has {len(row)} tokens, special ones included, and {encoder.id} takes "
            f"{tokenizer.max_length}; shorten it, or leave truncate out to have it cut.",
            name.partition("[")[0],
        )
    return tokenizer.cut(row)


def _complete(encoder: ServedEncoder, ids: list[int], name: str) -> list[int]:
    greatest, vocabulary = max(ids), encoder.tokenizer.vocabulary
    if greatest >= vocabulary:
        raise invalid(
            name.partition("[")[0],
            f"{name}: the token id {greatest} is outside the vocabulary of {encoder.id}, 0 to "
            f"{vocabulary - 1}; take ids from /v1/tokenize.",
        )
    return encoder.tokenizer.complete(ids)
