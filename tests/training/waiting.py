"""A watch for what makes the host wait: reading values, and shapes that follow from them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_WAITS = {"_local_scalar_dense", "nonzero", "masked_select", "equal", "unique", "is_nonzero"}


class WaitedError(AssertionError):
    """Something needed a value on the host."""


@contextmanager
def nothing_waits() -> Iterator[None]:
    """Inside, an operation that would wait for an accelerator raises WaitedError on any device."""
    with _Watch():  # type: ignore[no-untyped-call]
        yield


class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        name = func.overloadpacket.__name__
        if name in _WAITS or (name in {"index", "index_put_"} and _by_truth(args[1])):
            raise WaitedError(name)
        return func(*args, **(kwargs or {}))


def _by_truth(indices: Any) -> bool:
    return any(index is not None and index.dtype == torch.bool for index in indices)
