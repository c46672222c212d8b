"""Stage: sentences of the corpus -> token arrays for training and held-out loss, and a report.

    python -m pipeline.prepare --params params.yaml --out data/prepared --report report.json

Writes `train/` and `held_out/` (tokens.py) and `meta.json`. The folder appears whole or not at all.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pipeline.config import load as config
from pipeline.data.prepared import Meta, Report, as_json, histogram
from pipeline.data.sentences import read
from pipeline.data.tokenizing import load_tokenizer, tokenize, vocabulary_size
from pipeline.machine.errors import InputError
from pipeline.machine.files import replacing, write_atomically
from pipeline.machine.stage import parser, run_stage

if TYPE_CHECKING:
    import argparse


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if the folder and the report were written, 1 with one sentence if not."""
    options = parser("pipeline.prepare", __doc__)
    options.add_argument("--params", type=Path, required=True, help="params.yaml")
    options.add_argument("--out", type=Path, required=True, help="folder of token arrays")
    options.add_argument("--report", type=Path, required=True, help="JSON file")
    options.add_argument("--held-out", type=float, help="in place of corpus.held_out")
    left = "what it had begun to write is removed."
    return run_stage("prepare", _run, options.parse_args(argv), left)


def _run(options: argparse.Namespace) -> None:
    params = config.load(options.params)
    report = prepare(
        source=params.corpus.source,
        revision=params.corpus.revision,
        column=params.corpus.column,
        backbone=params.backbone.source,
        backbone_revision=params.backbone.revision,
        max_length=params.train.max_length,
        held_out=params.corpus.held_out if options.held_out is None else options.held_out,
        seed=params.corpus.seed,
        minimum=params.train.batch_size,
        out=options.out,
    )
    write_atomically(options.report, as_json(report))
    print(
        f"{options.out}: {report.train:,} sentences to train on, {report.held_out:,} held out; "
        f"{report.empty:,} empty and {report.duplicates:,} duplicate rows dropped; "
        f"{report.share_truncated:.2%} cut to the training length."
    )


def prepare(  # noqa: PLR0913 - every argument is one parameter of params.yaml
    *,
    source: str,
    revision: str | None,
    column: str,
    backbone: str,
    backbone_revision: str | None = None,
    max_length: int,
    held_out: float,
    seed: int,
    minimum: int,
    out: Path,
) -> Report:
    """Read, tokenize, divide and write a corpus.

    Args:
        source: As for `sentences.read`, like the next two.
        revision: Of a source on the hub.
        column: That holds the sentences.
        backbone: Hugging Face folder or hub id of the encoder to be trained.
        backbone_revision: Of a hub id: commit, branch or tag; None is the main branch.
        max_length: Tokens a sentence is truncated to, special ones included.
        held_out: Share of the sentences kept from training, in [0, 1).
        seed: Decides which ones.
        minimum: Fewest sentences to train on: one batch.
        out: Folder to write; one that an earlier call wrote is replaced.

    Raises:
        InputError: An argument is out of range, the source cannot be read, or holds too little.
    """
    if out.exists() and not (out / "meta.json").exists() and (out.is_file() or any(out.iterdir())):
        raise InputError(
            f"--out: {str(out)!r} exists and is no prepared folder; name a new or empty one."
        )
    if not 0 <= held_out < 1:
        raise InputError(f"corpus.held_out: {held_out} is no share; give one in [0, 1).")
    tokenizer, pad_id = load_tokenizer(backbone, max_length, backbone_revision)
    corpus = read(source, revision=revision, column=column)
    held = _held_out(len(corpus.sentences), held_out, seed, minimum)
    arrays, lengths = tokenize(corpus.sentences, tokenizer, max_length)
    tokenizer_hash = hashlib.sha256(tokenizer.to_str().encode()).hexdigest()
    data_hash = hashlib.sha256(f"{tokenizer_hash} {max_length} {held_out} {seed}".encode())
    for sentence in corpus.sentences:
        data_hash.update(b"\0" + sentence.encode())  # no sentence holds a NUL: unambiguous
    report = Report(
        source=source,
        data_hash=data_hash.hexdigest(),
        rows_in=corpus.rows,
        rows_kept=len(corpus.sentences),
        empty=corpus.empty,
        duplicates=corpus.duplicates,
        train=int((~held).sum()),
        held_out=int(held.sum()),
        share_truncated=float((arrays.lengths < lengths).mean()),
        tokens=len(arrays.ids),
        mean_length=float(lengths.mean()),
        length_histogram=histogram(lengths),
    )
    meta = Meta(
        backbone=backbone,
        tokenizer_hash=tokenizer_hash,
        vocabulary=vocabulary_size(tokenizer),
        pad_id=pad_id,
        max_length=max_length,
        data_hash=report.data_hash,
        source=source,
        train=report.train,
        held_out=report.held_out,
    )
    with replacing(out) as folder:
        arrays.where(~held).save(folder / "train")
        arrays.where(held).save(folder / "held_out")
        (folder / "meta.json").write_bytes(as_json(meta))
    return report


def _held_out(count: int, share: float, seed: int, minimum: int) -> np.ndarray:
    """Which sentences are held out, (sentences,)."""
    held = np.zeros(count, np.bool_)
    chosen = np.random.default_rng(seed).permutation(count)[: round(count * share)]
    held[chosen] = True
    if count - len(chosen) < minimum:
        raise InputError(
            f"corpus.source: {count} distinct sentences, {len(chosen)} of them held out, are "
            f"fewer than one batch of {minimum}; give more text or a smaller train.batch_size."
        )
    return held


if __name__ == "__main__":
    raise SystemExit(main())
