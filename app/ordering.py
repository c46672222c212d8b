"""An order of sentences in which like ones stand beside each other."""

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform


def cluster_order(cosines: npt.NDArray[np.float64]) -> list[int]:
    """The leaves of an average-linkage tree over 1 - cosine, turned so that neighbours are near.

    Args:
        cosines: (N, N).
    """
    if len(cosines) < 3:
        return list(range(len(cosines)))
    distances = np.clip(1 - (cosines + cosines.T) / 2, 0, None)
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(distances, checks=False), "average", optimal_ordering=True)
    order: list[int] = leaves_list(tree).tolist()
    return order
