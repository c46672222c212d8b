"""Embed a corpus of any size: sentences of a file -> .npy or Parquet.

    python -m pipeline.embed corpus.txt.xz corpus.npy --encoder models/vicreg_modified/42
    python -m pipeline.embed corpus.parquet embedded.parquet --encoder DIR --column sentence

Memory holds a chunk or two. Row N of the output belongs to row N of the input, empty lines
included. A run that was stopped resumes after its last finished chunk when the same command is
started again; OUTPUT appears when it is whole. Several machines: --ray, see docs/embedding.md.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from tqdm import tqdm

from pipeline.data.rows import ALLOWED, NEEDS_PYARROW, PARQUET
from pipeline.embedding.encoding import Encoding, encode_here
from pipeline.embedding.on_ray import check_cluster, encode_on_ray
from pipeline.embedding.parts import Parts, changed_while_read, check_new, unfinished
from pipeline.embedding.source import Source
from pipeline.encoder.folder import Pooling
from pipeline.encoder.version import folder_version
from pipeline.machine.errors import InputError
from pipeline.machine.files import check_writable
from pipeline.machine.stage import parser, run_stage, whole_number

if TYPE_CHECKING:
    import argparse

    from pipeline.encoder.encoder import SentenceEncoder


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if OUTPUT is there, 1 with one sentence if not."""
    left = "the same command resumes after the last finished chunk."
    return run_stage("embed", _run, _parser().parse_args(argv), left)


def _parser() -> argparse.ArgumentParser:
    options = parser("pipeline.embed", __doc__)
    add = options.add_argument
    add("input", metavar="INPUT", type=Path, help=f"{ALLOWED}; or a folder of {PARQUET} files")
    add("output", metavar="OUTPUT", type=Path, help=".npy or .parquet file")
    add("--encoder", type=Path, required=True, help="folder of the encoder")
    add("--column", default="text", help="the sentences' column, read or written (default: text)")
    add("--batch-size", type=whole_number(1), default=64, help="sentences at a time (64)")
    add("--chunk", type=whole_number(1), default=8192, help="sentences finished together (8192)")
    add("--device", default="auto", help="auto, cpu, cuda, ...")
    pooling = "for a Hugging Face folder, which does not say"
    add("--pooling", choices=get_args(Pooling), default="cls", help=pooling)
    add("--dtype", choices=("float32", "float16"), default="float32", help="of the embeddings")
    add("--normalize", "--normalise", action="store_true", help="scale embeddings to length one")
    add = options.add_argument_group("several machines").add_argument
    ray = "a Ray cluster: local (started here), auto (the one of this machine) or HOST:PORT"
    add("--ray", metavar="ADDRESS", help=ray)
    add("--workers", type=whole_number(1), help="processes that embed (default: all that fit)")
    gpus = "share of a GPU for each (default: 1 where the cluster has GPUs, else 0)"
    add("--gpus-per-worker", type=float, metavar="SHARE", help=gpus)
    return options


def _run(options: argparse.Namespace) -> None:
    _check(options)
    source = Source.open(options.input, options.column)
    as_parquet = options.output.suffix.lower() == PARQUET
    if as_parquet:
        try:
            from pipeline.embedding.parquet import output_schema, write_parquet  # noqa: PLC0415
        except ImportError as error:
            raise InputError(f"OUTPUT: {options.output} {NEEDS_PYARROW}.") from error
        output_schema(source)  # what it refuses, before the work
    settings = Encoding(
        options.encoder.resolve(),
        options.device,
        options.pooling,
        options.normalize,
        options.dtype,
        options.batch_size,
    )
    # Workers of a cluster have devices of their own.
    encoder = (replace(settings, device="cpu") if options.ray else settings).load()
    # The whole input is read first, so that a row that is wrong shows before the work.
    sentences = sum(1 for _ in tqdm(source.texts(), "read", unit=" sentences", disable=None))
    if not sentences:
        raise InputError(f"INPUT: {source.path} is empty; give a file with a sentence in it.")
    plan = {
        "INPUT": source.digest(),
        "--column": options.column,
        "--encoder": folder_version(options.encoder),
        "--pooling": encoder.layout.pooling,
        "--normalize": encoder.layout.normalize,
        "--dtype": options.dtype,
        "--chunk": options.chunk,
    }
    parts = Parts(options.output, (sentences, encoder.dimension), options.dtype, options.chunk)
    with unfinished(parts, plan) as whole:
        if parts.done() < sentences:
            _embed(source, parts, encoder, settings, options)
        if as_parquet:
            write_parquet(whole, source, parts)
        else:
            parts.write_array(whole)
    shape = f"{sentences:,} embeddings of {encoder.dimension} numbers, {options.dtype}"
    print(f"{options.output}: {shape}.")


def _embed(
    source: Source,
    parts: Parts,
    encoder: SentenceEncoder,
    settings: Encoding,
    options: argparse.Namespace,
) -> None:
    """Make the chunks that are not there."""
    chunks = enumerate(source.chunks(options.chunk))
    missing = ((number, texts) for number, texts in chunks if not parts.has(number))
    if options.ray is None:
        results = encode_here(missing, encoder, settings)
    else:
        cluster = options.ray, options.workers, options.gpus_per_worker
        results = encode_on_ray(missing, settings, *cluster)
    total, done = parts.shape[0], parts.done()
    bar = tqdm(desc="embed", total=total, initial=done, unit=" sentences", disable=None)
    with bar, closing(results):
        for number, embeddings in results:
            parts.write(number, embeddings)
            bar.update(len(embeddings))
    if parts.done() < total:
        raise changed_while_read()


def _check(options: argparse.Namespace) -> None:
    """What can be refused before anything is read."""
    encoder, output = options.encoder, options.output
    if not any((encoder / name).is_file() for name in ("config.json", "modules.json")):
        raise InputError(
            f"--encoder: {encoder} is no encoder's folder (it has no config.json or "
            "modules.json); give a sentence-transformers or Hugging Face folder."
        )
    if output.suffix.lower() not in (".npy", PARQUET):
        raise InputError(
            f"OUTPUT: {output} is of an unknown format; give a name in .npy or .parquet."
        )
    for option, folder in (("INPUT", options.input), ("--encoder", encoder)):
        if output.resolve().is_relative_to(folder.resolve()):
            raise InputError(f"OUTPUT: {output} lies in {option}, {folder}; write elsewhere.")
    check_writable("OUTPUT", output)
    check_new(output)
    check_cluster(options.ray, options.workers, options.gpus_per_worker)


if __name__ == "__main__":
    raise SystemExit(main())
