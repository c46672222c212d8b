"""Embed a corpus of any size: sentences of a file -> .npy or Parquet.

    python -m pipeline.embed corpus.txt.xz corpus.npy --encoder models/vicreg_modified/42
    python -m pipeline.embed corpus.parquet embedded.parquet --encoder DIR --column sentence

Memory holds a chunk or two. Row N of the output belongs to row N of the input, empty lines
included. A run that was stopped resumes after its last finished chunk when the same command is
started again; OUTPUT appears when it is whole. Several machines: --ray, see docs/embedding.md.
"""

import argparse
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import get_args

import numpy as np
from tqdm import tqdm

from pipeline.data.rows import ALLOWED, NEEDS_PYARROW, PARQUET
from pipeline.embedding.encoding import Encoding
from pipeline.embedding.on_ray import check_cluster, encode_on_ray
from pipeline.embedding.source import Source
from pipeline.embedding.unfinished import Unfinished, begun, changed_while_read
from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.folder import Pooling
from pipeline.encoder.version import folder_version
from pipeline.machine.device import PRECISIONS
from pipeline.machine.errors import InputError, WriteError
from pipeline.machine.files import check_writable
from pipeline.machine.stage import parser, run_stage, whole_number


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if OUTPUT is there, 1 with one sentence if not."""
    hint = "the same command resumes after the last finished chunk."
    return run_stage("embed", _run, _parser().parse_args(argv), hint)


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
    add("--precision", choices=PRECISIONS, default="fp32", help="of matrix products (fp32)")
    pooling = "for a Hugging Face folder, which does not say"
    add("--pooling", choices=get_args(Pooling), default="cls", help=pooling)
    add("--dtype", choices=("float32", "float16"), default="float32", help="of the embeddings")
    add("--normalize", action="store_true", help="scale embeddings to length one")
    add = options.add_argument_group("several machines").add_argument
    ray = "a Ray cluster: local (started here), auto (the one of this machine) or HOST:PORT"
    add("--ray", metavar="ADDRESS", help=ray)
    add("--workers", type=whole_number(1), help="processes that embed (default: all that fit)")
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
        options.precision,
    )
    # Workers of a cluster have devices of their own.
    here = replace(settings, device="cpu", precision="fp32") if options.ray else settings
    encoder = here.load()
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
        "--precision": options.precision,
        "--chunk": options.chunk,
    }
    shape = sentences, encoder.dimension
    unfinished = Unfinished(options.output, shape, np.dtype(options.dtype), options.chunk)
    with begun(unfinished, plan):
        _embed(source, unfinished, encoder, settings, options)
        whole = write_parquet(source, unfinished) if as_parquet else unfinished.array
        unfinished.finish(whole)
    summary = f"{sentences:,} embeddings of {encoder.dimension} numbers, {options.dtype}"
    print(f"{options.output}: {summary}.")


def _embed(
    source: Source,
    unfinished: Unfinished,
    encoder: SentenceEncoder,
    settings: Encoding,
    options: argparse.Namespace,
) -> None:
    """Make the chunks that are not there."""
    total, done = unfinished.shape[0], unfinished.done
    if done == total:
        return
    chunks = islice(source.chunks(options.chunk), done // options.chunk, None)
    if options.ray is None:
        results = (settings.embed(encoder, texts) for texts in chunks)
    else:
        results = encode_on_ray(chunks, settings, options.ray, options.workers)
    bar = tqdm(desc="embed", total=total, initial=done, unit=" sentences", disable=None)
    with bar, closing(results):
        for embeddings in results:
            unfinished.append(embeddings)
            bar.update(len(embeddings))
    if unfinished.done < total:
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
    if output.exists():
        raise WriteError(f"OUTPUT: {output} exists; remove it, or name another.")
    check_cluster(options.ray, options.workers)


if __name__ == "__main__":
    raise SystemExit(main())
