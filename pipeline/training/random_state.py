"""The state of the generators that a run draws from: the CPU's and its device's."""

from collections.abc import Mapping

import torch
from torch import Tensor

State = Mapping[str, Tensor]


def random_state(device: torch.device) -> State:
    """The generators that a run on the device draws from."""
    state = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    if device.type == "mps":
        state["mps"] = torch.mps.get_rng_state()
    return state


def set_random_state(state: State, device: torch.device) -> None:
    """Go on from a state; one of another kind of device sets the CPU's generator alone."""
    torch.set_rng_state(state["cpu"])
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)
    if device.type == "mps" and "mps" in state:
        torch.mps.set_rng_state(state["mps"])
