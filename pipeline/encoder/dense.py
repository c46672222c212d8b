"""Dense modules of sentence-transformers: a linear layer and an activation behind the pooling."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn

from pipeline.machine.errors import InputError, first_line

_ACTIVATIONS = {
    kind.__name__: kind for kind in (nn.Identity, nn.Tanh, nn.ReLU, nn.GELU, nn.SiLU, nn.Sigmoid)
}


def load_dense(folder: Path) -> nn.Sequential:
    """The layers of a Dense module's folder, in float32.

    Raises:
        InputError: it is damaged, or of a kind that Triad lacks.
    """
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        kind = _activation(folder / "config.json", config)
        linear = nn.Linear(config["in_features"], config["out_features"], config.get("bias", True))
        weights = _weights(folder)
        linear.load_state_dict({name.removeprefix("linear."): weights[name] for name in weights})
    except InputError:
        raise
    except Exception as error:  # damaged files raise whatever their reader raises
        raise InputError(
            f"{folder}: no Dense module that can be loaded ({first_line(error)})."
        ) from error
    return nn.Sequential(linear, kind()).eval()


def _activation(path: Path, config: dict[str, Any]) -> type[nn.Module]:
    ends = {config.get("module_input_name"), config.get("module_output_name")}
    if config.get("use_residual") or ends - {None, "sentence_embedding"}:
        raise InputError(
            f"{path}: cannot use a Dense module with a residual, or one between other things than "
            "sentence embeddings."
        )
    name = config.get("activation_function", "torch.nn.modules.activation.Tanh")
    library, _, kind = name.rpartition(".")
    if not library.startswith("torch.nn.") or kind not in _ACTIVATIONS:
        raise InputError(
            f"{path}: cannot use activation_function {name}; Triad reads "
            f"{', '.join(_ACTIVATIONS)} of torch.nn."
        )
    return _ACTIVATIONS[kind]


def _weights(folder: Path) -> dict[str, torch.Tensor]:
    file = folder / "model.safetensors"
    if file.is_file():
        return load_file(file)
    old = folder / "pytorch_model.bin"
    weights: dict[str, torch.Tensor] = torch.load(old, map_location="cpu", weights_only=True)
    return weights
