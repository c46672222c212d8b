"""A job's inputs -> token ids that its encoder takes, or the sentence that says why not.

Not here: what an input may be at all (contract.py).
"""

from serve.batching.jobs import Job
from serve.errors import ApiError, invalid, over_limit
from serve.registry import ServedEncoder

# Characters that a thread tokenises before it looks whether something else is more urgent.
SLICE = 1 << 16


def tokenise_some(job: Job) -> bool:
    """Tokenise about `SLICE` characters of a job; whether all of it is done now.

    Raises:
        ApiError: an input cannot be encoded as the request wants it.
    """
    start, characters = len(job.rows), 0
    part: list[str | list[int]] = []
    for one in job.inputs[start:]:
        part.append(one)
        characters += len(one)
        if characters >= SLICE:
            break
    tokenizer = job.encoder.tokenizer
    encoded = iter(tokenizer.encode([one for one in part if isinstance(one, str)]))
    for index, one in enumerate(part, start):
        name = job.names(index)
        row = next(encoded) if isinstance(one, str) else _complete(job.encoder, one, name)
        short = tokenizer.cut(row)
        if len(short) < len(row) and not job.truncate:
            raise ApiError(
                400,
                "context_length_exceeded",
                f"{name}: has {len(row)} tokens, special ones included, and {job.encoder.id} takes "
                f"{tokenizer.max_length}; shorten it, or leave truncate out to have it cut.",
                name.partition("[")[0],
            )
        job.rows.append(short)
        job.truncated.append(len(short) < len(row))
    total = sum(map(len, job.rows))
    if total > job.most_tokens:
        raise over_limit(
            job.names(0).partition("[")[0],
            "tokens",
            job.most_tokens,
            f"the first {len(job.rows)} texts have {total} tokens",
            "divide the request",
        )
    return len(job.rows) == len(job.inputs)


def _complete(encoder: ServedEncoder, ids: list[int], name: str) -> list[int]:
    least, greatest, vocabulary = min(ids), max(ids), encoder.tokenizer.vocabulary
    if least < 0 or greatest >= vocabulary:
        raise invalid(
            name.partition("[")[0],
            f"{name}: the token id {least if least < 0 else greatest} is outside the vocabulary of "
            f"{encoder.id}, 0 to {vocabulary - 1}; take ids from /v1/tokenize.",
        )
    return encoder.tokenizer.complete(ids)
