"""Stage: an encoder and held-out sentences -> section 3.2's measurements of its embeddings.

    python -m pipeline.measure --encoder DIR --prepared DIR --batches 20 --batch-size 128 --seed 42
        --margin 0.3 --temperatures 0.01 0.05 0.3 --steps 0.1 0.5 --out FILE.json

Any encoder that was trained on the prepared folder's tokens, and the untrained backbone. What is
measured stands in `pipeline.paper.held_out.measurements`.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import track

from pipeline.data.prepared import Meta
from pipeline.data.tokens import TokenArrays
from pipeline.encoder.encoder import SentenceEncoder, locate
from pipeline.encoder.record import read_origin
from pipeline.encoder.version import folder_version
from pipeline.machine.device import describe, processor
from pipeline.machine.errors import InputError
from pipeline.machine.files import write_atomically
from pipeline.machine.stage import run_stage
from pipeline.paper.held_out.arguments import parser
from pipeline.paper.held_out.dropout_views import complete_batches, dropout_views
from pipeline.paper.held_out.measurements import Settings, measure
from pipeline.training.network import attend_with_dropout, refuse_without_dropout

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from pipeline.objectives.views import Views


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if the measurements were written, 1 with one sentence if not."""
    return run_stage("measure", _run, parser(__doc__).parse_args(argv))


def _run(options: argparse.Namespace) -> None:
    _check_out(options.out, options.encoder)
    meta = Meta.load(options.prepared)
    batches = complete_batches(meta.held_out, options.batch_size, options.batches)
    tokens = TokenArrays.load(options.prepared / "held_out")
    encoder = _load(options, meta)
    described = describe_encoder(options.encoder, encoder.layout.pooling)
    views = dropout_views(
        encoder,
        tokens,
        meta.pad_id,
        batches=batches,
        batch_size=options.batch_size,
        seed=options.seed,
    )
    content = {
        "encoder": described,
        "data": _data(meta, batches, options.batch_size),
        "settings": _settings(options),
        "hardware": _hardware(encoder),
        **measure(_shown(views, batches), _asked(options)),
    }
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(options.out, f"{text}\n".encode())
    print(summary(content))


def _hardware(encoder: SentenceEncoder) -> str:
    device = encoder.model.device
    named = f" of {processor()}" if device.type == "cpu" else ""
    return describe(device) + named


def _load(options: argparse.Namespace, meta: Meta) -> SentenceEncoder:
    """The encoder as training has it; one whose token ids mean other words is refused."""
    encoder = SentenceEncoder.load(options.encoder, options.device, options.pooling)
    tokenizer = encoder.tokenizer.backend_tokenizer
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if hashlib.sha256(tokenizer.to_str().encode()).hexdigest() != meta.tokenizer_hash:
        raise InputError(
            f"--prepared: {options.prepared} holds tokens of {meta.backbone}, whose tokenizer is "
            f"not that of {options.encoder}; prepare the corpus for this encoder's backbone."
        )
    refuse_without_dropout(encoder, options.encoder)
    attend_with_dropout(encoder.model)
    return encoder


def describe_encoder(source: str, pooling: str) -> dict[str, Any]:
    """Who is measured: name and version, and for an encoder of Triad's what its record says.

    Raises:
        InputError: the record is broken.
    """
    folder = locate(source)
    origin = read_origin(folder)
    return {
        "name": origin.name(Path(source).resolve().name if Path(source).exists() else source),
        "objective": origin.objective,
        "seed": origin.seed,
        "version": folder_version(folder),
        "steps": origin.steps,
        "step": origin.step,
        "pooling": pooling,
    }


def _data(meta: Meta, batches: int, batch_size: int) -> dict[str, Any]:
    return {
        "source": meta.source,
        "hash": meta.data_hash,
        "held_out": meta.held_out,
        "batches": batches,
        "batch_size": batch_size,
        "sentences": batches * batch_size,
    }


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "seed": options.seed,
        "margin": options.margin,
        "gate": "cross_view",
        "temperatures": options.temperatures,
        "steps": options.steps,
        "precision": "fp32",
    }


def _asked(options: argparse.Namespace) -> Settings:
    return Settings(
        margin=options.margin,
        temperatures=tuple(options.temperatures),
        steps=tuple(options.steps),
        seed=options.seed,
    )


def _shown(views: Iterable[Views], batches: int) -> Iterable[Views]:
    console = Console(stderr=True)
    return track(views, "measure", total=batches, console=console, disable=not console.is_terminal)


def summary(content: Mapping[str, Any]) -> str:
    """One line for the terminal."""
    encoder, data, shares = content["encoder"], content["data"], content["hardest_share"]
    positive, negative, gap = (
        content["cosines"][key]["mean"] for key in ("positive", "negative", "gap")
    )
    return (
        f"{encoder['name']}: {data['batches']} batches of {data['batch_size']}; mean cosine "
        f"{positive:.3f} of positives, {negative:.3f} of negatives, gap {gap:.3f}; "
        f"{shares['open_share']:.1%} of {shares['anchors']:,} anchors open."
    )


def _check_out(out: Path, encoder: str) -> None:
    if out.resolve().is_relative_to(Path(encoder).resolve()):
        raise InputError(
            f"--out: {out} lies in the encoder's folder, whose version is the hash of what it "
            "holds; write elsewhere."
        )


if __name__ == "__main__":
    raise SystemExit(main())
