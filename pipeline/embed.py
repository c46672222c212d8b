"""Embed a corpus of any size: sentences of a text or Parquet file -> .npy or Parquet.

    python -m pipeline.embed corpus.txt.xz corpus.npy --encoder models/vicreg_modified/42
    python -m pipeline.embed corpus.parquet embedded.parquet --encoder DIR --column sentence

Memory holds a chunk or two. Row N of the output belongs to row N of the input, empty lines
included. A run that was stopped goes on after its last finished chunk when the same command is
started again; OUTPUT appears when it is whole. Several machines: --ray, see docs/embedding.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.embedding.arguments import parser
from pipeline.embedding.checks import check_options, check_room
from pipeline.embedding.cluster import cluster
from pipeline.embedding.display import display
from pipeline.embedding.encoding import Encoding, encode_here
from pipeline.embedding.opening import PARQUET, open_source
from pipeline.embedding.parts import SHEET, WHOLE, Parts, open_parts, was_finished
from pipeline.embedding.plan import Plan
from pipeline.embedding.source import Source, digest
from pipeline.encoder.version import folder_version
from pipeline.machine.errors import InputError
from pipeline.machine.stage import run_stage

if TYPE_CHECKING:
    import argparse

    from pipeline.encoder.encoder import SentenceEncoder

INTERRUPTED = "the same command goes on after the last finished chunk."


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if OUTPUT is there, 1 with one sentence if not."""
    return run_stage("embed", _run, parser(__doc__).parse_args(argv), INTERRUPTED)


def _run(options: argparse.Namespace) -> None:
    check_options(options)
    source = _open(options)
    settings = Encoding(
        options.encoder,
        options.device,
        options.pooling,
        options.normalise,
        options.dtype,
        options.batch_size,
    )
    # Workers of a cluster have devices of their own.
    encoder = (replace(settings, device="cpu") if options.ray else settings).load()
    plan = _plan(source, encoder, settings, options.chunk)
    if not was_finished(options.output, plan):
        check_room(options.output, plan)
        with open_parts(options.output, plan) as parts:
            _embed(source, parts, encoder, settings, options)
            parts.check_complete()
            parts.finish(_whole(source, parts))
    shape = f"{plan.sentences:,} embeddings of {plan.dimension} numbers, {plan.dtype}"
    print(f"{options.output}: {shape}.")


def _open(options: argparse.Namespace) -> Source:
    # Elsewhere in a cluster, relative paths would mean other files.
    path = options.input.resolve() if options.ray else options.input
    source = open_source(path, options.column)
    if options.output.suffix.lower() == PARQUET:
        from pipeline.embedding.parquet_output import check_columns  # noqa: PLC0415 - needs pyarrow

        check_columns(source)
    return source


def _plan(source: Source, encoder: SentenceEncoder, settings: Encoding, chunk: int) -> Plan:
    """Reads the whole input once, so that a row that is wrong shows before the work."""
    with display("read", None) as progress:
        sentences = 0
        for _ in source.texts():
            sentences += 1
            if sentences % 1000 == 0:
                progress(1000)
    if not sentences:
        raise InputError(f"INPUT: {source.path} is empty; give a file with a sentence in it.")
    return Plan(
        input=digest(source.path),
        column=source.column,
        encoder=folder_version(settings.folder),
        pooling=encoder.layout.pooling,
        normalise=encoder.layout.normalize,
        max_length=encoder.layout.max_length,
        dtype=settings.dtype,
        chunk=chunk,
        sentences=sentences,
        dimension=encoder.dimension,
    )


def _embed(
    source: Source,
    parts: Parts,
    encoder: SentenceEncoder,
    settings: Encoding,
    options: argparse.Namespace,
) -> None:
    if parts.done == parts.plan.sentences:
        return
    with display("embed", parts.plan.sentences, parts.done) as progress:
        if options.ray is None:
            encode_here(source, parts, encoder, settings, progress)
            return
        with cluster(options.ray):
            from pipeline.embedding.on_ray import Workers, encode_on_ray  # noqa: PLC0415 - it is Ray

            workers = Workers.of(options.workers, options.gpus_per_worker)
            encode_on_ray(source, parts, settings, workers, progress)


def _whole(source: Source, parts: Parts) -> str:
    """Which file of the parts is the output; a Parquet one is written now."""
    if parts.output.suffix.lower() != PARQUET:
        return SHEET
    from pipeline.embedding.parquet_output import write_parquet  # noqa: PLC0415 - needs pyarrow

    write_parquet(parts.sheet.with_name(WHOLE), source, parts)
    return WHOLE


if __name__ == "__main__":
    raise SystemExit(main())
