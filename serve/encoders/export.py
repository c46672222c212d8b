"""Export encoders for serving: `python -m serve.encoders.export models/*/*`.

Writes, for each encoder, a folder named by the encoder's version (see exported.py), once: an
export that is there already is left alone. Needs torch and onnx; serving does not.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.vectors import pad
from pipeline.encoder.version import folder_version
from pipeline.machine.errors import InputError, first_line
from pipeline.machine.files import replacing
from serve.encoders.exported import Description, Exported, ExportError, ReferenceVectors
from serve.encoders.reference_texts import TEXTS
from serve.encoders.torch_backend import Pooled, load_encoder

# Of the standard that both runtimes read.
_OPSET = 18


def export(encoder: Path, place: Path) -> Path:
    """Export an encoder into `place`/<version>, unless that is there already.

    Raises:
        InputError: the folder is no encoder.
        ExportError: it cannot be exported.
    """
    if not encoder.is_dir():
        raise InputError("there is no such folder.")
    target = place / folder_version(encoder)
    try:
        Exported.load(target)
    except ExportError:
        place.mkdir(parents=True, exist_ok=True)
        with replacing(target) as unfinished:
            _write(load_encoder(encoder), encoder, unfinished)
    return target


def _write(encoder: SentenceEncoder, source: Path, folder: Path) -> None:
    description = Description(
        dimension=encoder.dimension,
        dimensions=declared_dimensions(source, encoder.dimension),
        max_length=int(encoder.layout.max_length or 0),
        pooling=encoder.layout.pooling,
        normalize=encoder.layout.normalize,
        padding_id=int(encoder.tokenizer.pad_token_id),
        prompts=dict(encoder.layout.prompts),
        default_prompt=encoder.layout.default_prompt,
    )
    exported = Exported(folder, description)
    backend = encoder.tokenizer.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    backend.save(str(folder / "tokenizer.json"))
    exported.write()
    tokenizer = exported.tokenizer()
    ids = [tokenizer.cut(row) for row in tokenizer.encode(TEXTS)]
    expected = encoder.tokenizer(list(TEXTS), truncation=True, max_length=description.max_length)
    if ids != expected["input_ids"]:
        raise ExportError(f"{source}: its tokenizer cuts or reads texts in a way of its own.")
    pooled = Pooled(encoder).eval()
    with torch.inference_mode():
        rows = [pooled(*(torch.from_numpy(part) for part in pad([row], 0))).numpy() for row in ids]
    ReferenceVectors(ids, np.concatenate(rows)).save(folder / "reference.npz")
    _write_graph(pooled, folder / "graph.onnx")


def _write_graph(pooled: Pooled, file: Path) -> None:
    # Two tensors: given the same one twice, the exporter takes both inputs for one. With a place
    # left out: some models skip a mask that leaves out none.
    ids, mask = torch.ones(2, 7, dtype=torch.int64), torch.ones(2, 7, dtype=torch.int64)
    mask[1, 5:] = 0
    axes = {0: "batch", 1: "length"}
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # of torch's own exporter, about itself
        try:
            torch.onnx.export(
                pooled,
                (ids, mask),
                file,
                dynamo=False,  # traced in half a second; torch.export takes ten times as long
                opset_version=_OPSET,
                input_names=["input_ids", "attention_mask"],
                output_names=["embeddings"],
                dynamic_axes={"input_ids": axes, "attention_mask": axes},
            )
        except Exception as error:  # the exporter raises whatever stops it
            raise ExportError(f"torch cannot export its graph ({first_line(error)}).") from error


def declared_dimensions(encoder: Path, dimension: int) -> tuple[int, ...]:
    """Lengths to which the encoder's embeddings may be cut: its config.json lists them.

    The key `matryoshka_dimensions` is the one that vLLM and several published models use.

    Raises:
        InputError: the list is none of whole numbers up to D.
    """
    config = json.loads((encoder / "config.json").read_text(encoding="utf-8"))
    listed = config.get("matryoshka_dimensions", [])
    if not isinstance(listed, list) or not all(
        type(size) is int and 0 < size <= dimension for size in listed
    ):
        raise InputError(
            f"{encoder / 'config.json'}: matryoshka_dimensions must be a list of whole numbers "
            f"from 1 to {dimension}, got {listed!r}."
        )
    return tuple(sorted({*listed, dimension}))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as a command; the exit status is 1 if an encoder could not be exported."""
    parser = argparse.ArgumentParser(prog="python -m serve.encoders.export", description=__doc__)
    parser.add_argument("encoders", nargs="+", type=Path, help="sentence-transformers folders")
    parser.add_argument("--out", type=Path, required=True, help="folder of exports")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)  # the service loads beside it what is exported already
    failed = 0
    for encoder in options.encoders:
        try:
            target = export(encoder, options.out)
        except (ValueError, OSError) as error:  # encoder or export
            print(f"{encoder}: {error}", file=sys.stderr, flush=True)
            failed = 1
        else:
            print(f"{encoder}: {target}", flush=True)  # who waits for it reads on at once
    return failed


if __name__ == "__main__":
    sys.exit(main())
