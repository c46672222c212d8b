"""Which of the waiting texts make the next batch: those that cost least a token with the first one.

Every text of a batch is padded to its longest. Longer batches spread what a call costs over more
texts, and bring more lengths together; so both are weighed.
"""

from collections.abc import Sequence

import numpy as np

# What a call costs besides its tokens, in tokens. ONNX Runtime and OpenVINO take 10 to 30, MiniLM
# on one core; from 10 to 64, a simulated load of 64 clients x 1 text changes by 3 %.
CALL = 20


def cheapest_group(lengths: Sequence[int], budget: int) -> list[int]:
    """Indices of a batch that holds index 0, at least cost a token.

    The batch is a run of the texts in the order of their lengths, n of them with l_i tokens, at
    most l: of those with n l <= budget (or n = 1), the one of least (n l + CALL) / sum l_i.

    Args:
        lengths: tokens of each text.
        budget: most tokens of the batch, padding included.
    """
    given = np.asarray(lengths)
    order = np.argsort(-given, kind="stable")
    ordered = given[order]
    first = int(np.flatnonzero(order == 0)[0])
    most = max(1, budget // int(ordered[first]))  # texts, since none of them sets a shorter longest
    begins = np.arange(max(0, first - most + 1), first + 1)[:, None]
    ends = np.arange(first + 1, min(len(given), first + most) + 1)[None, :]
    sums = np.concatenate([[0], np.cumsum(ordered)])
    count = ends - begins
    padded = count * ordered[begins]
    cost = (padded + CALL) / (sums[ends] - sums[begins])
    cost[(padded > budget) & (count > 1)] = np.inf
    begin, end = np.unravel_index(np.argmin(cost), cost.shape)
    indices: list[int] = order[begins[begin, 0] : ends[0, end]].tolist()
    return indices
