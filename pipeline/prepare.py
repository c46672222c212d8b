"""Stage: sentences of the corpus -> token arrays for training and held-out loss, and a report.

    python -m pipeline.prepare --params params.yaml --out data/prepared --report report.json

Writes `train/` and `held_out/` (tokens.py) and `meta.json`. The folder appears whole or not at all.
"""

import argparse
import hashlib
from pathlib import Path

from pipeline.config import load as config
from pipeline.config.schema import BackboneParams, CorpusParams, TrainParams
from pipeline.data.prepared import Meta, Report, as_json, histogram
from pipeline.data.sentences import choose_held_out, read
from pipeline.data.tokenizing import load_tokenizer, tokenize, vocabulary_size
from pipeline.machine.errors import InputError
from pipeline.machine.files import replacing, write_atomically
from pipeline.machine.stage import parser, run_stage


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if the folder and the report were written, 1 with one sentence if not."""
    options = parser("pipeline.prepare", __doc__)
    options.add_argument("--params", type=Path, required=True, help="params.yaml")
    options.add_argument("--out", type=Path, required=True, help="folder of token arrays")
    options.add_argument("--report", type=Path, required=True, help="JSON file")
    options.add_argument("--held-out", type=_share, help="in place of corpus.held_out")
    hint = "what it had begun to write is removed."
    return run_stage("prepare", _run, options.parse_args(argv), hint)


def _share(text: str) -> float:
    if not 0 <= (share := float(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no share; give one in [0, 1)")
    return share


def _run(options: argparse.Namespace) -> None:
    params = config.load(options.params)
    corpus = params.corpus
    if options.held_out is not None:
        corpus = corpus.model_copy(update={"held_out": options.held_out})
    report = prepare(corpus, params.backbone, params.train, options.out)
    write_atomically(options.report, as_json(report))
    print(
        f"{options.out}: {report.train:,} sentences to train on, {report.held_out:,} held out; "
        f"{report.empty:,} empty and {report.duplicates:,} duplicate rows dropped; "
        f"{report.share_truncated:.2%} cut to the training length."
    )


def prepare(
    corpus: CorpusParams, backbone: BackboneParams, train: TrainParams, out: Path
) -> Report:
    """Read, tokenize, divide and write a corpus.

    Args:
        corpus: What is read, and which share of it is held out.
        backbone: Whose tokenizer cuts the sentences.
        train: Decides the length they are cut to, and the fewest of them, one batch.
        out: Folder to write; one that an earlier call wrote is replaced.

    Raises:
        InputError: The source or the tokenizer cannot be read, or there are too few sentences.
    """
    if out.exists() and not (out / "meta.json").exists() and (out.is_file() or any(out.iterdir())):
        raise InputError(
            f"--out: {str(out)!r} exists and is no prepared folder; name a new or empty one."
        )
    max_length, share, seed = train.max_length, corpus.held_out, corpus.seed
    tokenizer, pad_id = load_tokenizer(backbone.source, max_length, backbone.revision)
    text = read(corpus.source, revision=corpus.revision, column=corpus.column)
    held = choose_held_out(len(text.sentences), share, seed, train.batch_size)
    arrays, lengths = tokenize(text.sentences, tokenizer, max_length)
    tokenizer_hash = hashlib.sha256(tokenizer.to_str().encode()).hexdigest()
    data_hash = hashlib.sha256(f"{tokenizer_hash} {max_length} {share} {seed}".encode())
    for sentence in text.sentences:
        data_hash.update(b"\0" + sentence.encode())  # no sentence holds a NUL: unambiguous
    report = Report(
        source=corpus.source,
        data_hash=data_hash.hexdigest(),
        rows_in=text.rows,
        rows_kept=len(text.sentences),
        empty=text.empty,
        duplicates=text.duplicates,
        train=int((~held).sum()),
        held_out=int(held.sum()),
        share_truncated=float((arrays.lengths < lengths).mean()),
        tokens=len(arrays.ids),
        mean_length=float(lengths.mean()),
        length_histogram=histogram(lengths),
    )
    meta = Meta(
        backbone=backbone.source,
        tokenizer_hash=tokenizer_hash,
        vocabulary=vocabulary_size(tokenizer),
        pad_id=pad_id,
        max_length=max_length,
        data_hash=report.data_hash,
        source=corpus.source,
        train=report.train,
        held_out=report.held_out,
    )
    with replacing(out) as folder:
        arrays.where(~held).save(folder / "train")
        arrays.where(held).save(folder / "held_out")
        (folder / "meta.json").write_bytes(as_json(meta))
    return report


if __name__ == "__main__":
    raise SystemExit(main())
