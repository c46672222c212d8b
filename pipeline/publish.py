"""Command: an encoder that Triad trained -> a repository on the hub, with a complete model card.

    python -m pipeline.publish models/vicreg_modified/42 me/vicreg-modified --license apache-2.0
        --metrics metrics/vicreg_modified/*.json --dry-run published

With --dry-run, what would be uploaded is written there. The folder itself stays as it is, since its
version is the hash of what it holds. `hf auth login`, or the variable HF_TOKEN, says who uploads.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError, HFValidationError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]
from pydantic import ValidationError

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.version import check_outside, folder_version
from pipeline.hub.card import Facts, Score, card
from pipeline.machine.errors import InputError, first_line
from pipeline.machine.files import check_writable, replacing
from pipeline.machine.stage import parser, run_stage
from pipeline.results.metrics import HalfName, Metrics

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

# Of each half, the metric as the hub names it.
_METRICS: dict[HalfName, str] = {"sts": "spearman_cosine", "transfer": "accuracy"}
# What sentence-transformers writes there, but for versions, which this folder does not depend on.
CONFIG = {
    "model_type": "SentenceTransformer",
    "similarity_fn_name": "cosine",
    "prompts": {"query": "", "document": ""},
    "default_prompt_name": None,
}


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if the encoder was uploaded or written, 1 with one sentence if not."""
    hint = "the repository may hold a part; the same command uploads the rest."
    return run_stage("publish", _run, _parser().parse_args(argv), hint)


def _parser() -> argparse.ArgumentParser:
    options = parser("pipeline.publish", __doc__)
    add = options.add_argument
    add("folder", metavar="FOLDER", type=Path, help="folder of the encoder")
    add("repo", metavar="REPO", help="owner/name on the hub; it is made if need be")
    add("--license", required=True, help="the weights', by the hub's name, such as apache-2.0")
    measured = "of this encoder and, for mean and deviation, of the same objective's other seeds"
    add("--metrics", type=Path, nargs="+", default=[], metavar="FILE", help=measured)
    add("--language", default="en", help="of the sentences (default: en)")
    add("--base-model", metavar="ID", help="the backbone's id on the hub")
    dataset = "id on the hub of what it was trained on; may be given again"
    add("--dataset", action="append", default=[], metavar="ID", help=dataset)
    add("--onnx", action="store_true", help="with onnx/model.onnx, for backend='onnx'")
    add("--private", action="store_true", help="make a private repository")
    dry = "write what would be uploaded into this folder, and upload nothing"
    add("--dry-run", type=Path, metavar="FOLDER", help=dry)
    return options


def _run(options: argparse.Namespace) -> None:
    try:
        validate_repo_id(options.repo)
    except HFValidationError as error:
        raise InputError(f"REPO: {options.repo!r} is no id on the hub; give owner/name.") from error
    if "/" not in options.repo:
        raise InputError(f"REPO: {options.repo!r} names no owner; give owner/name.")
    if options.dry_run:
        check_writable("--dry-run", options.dry_run, folder=True)
        check_outside(options.folder, "--dry-run", options.dry_run)
        if options.dry_run.is_dir() and any(options.dry_run.iterdir()):
            raise InputError(f"--dry-run: {options.dry_run} is not empty; name a new folder.")
        with replacing(options.dry_run) as place:
            _complete(place, options)
        print(f"{options.dry_run}: what would be uploaded to {options.repo}.")
        return
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary) / "encoder"
        _complete(place, options)
        print(f"{options.repo}: uploaded as {_upload(place, options)}")


def _complete(place: Path, options: argparse.Namespace) -> None:
    """Copy the folder to `place`, and add what a repository on the hub has."""
    folder: Path = options.folder
    if not all((folder / name).is_file() for name in ("triad.json", "modules.json")):
        raise InputError(
            f"FOLDER: {folder} is no encoder that Triad trained (it has no triad.json and "
            "modules.json); give one of models/<objective>/<seed>."
        )
    encoder = SentenceEncoder.load(folder, "cpu")
    own, replicates = _measured(folder, options.metrics)
    facts = Facts(
        repo=options.repo,
        record=json.loads((folder / "triad.json").read_text(encoding="utf-8")),
        parameters=encoder.model.num_parameters(),
        layers=encoder.model.config.num_hidden_layers,
        dimension=encoder.dimension,
        max_length=int(encoder.layout.max_length or 0),
        license=options.license,
        language=options.language,
        base_model=options.base_model,
        datasets=tuple(options.dataset),
        scores=_scores(own, replicates),
        reservations=_reservations(own),
    )
    shutil.copytree(folder, place, dirs_exist_ok=True)
    (place / "README.md").write_text(card(facts), encoding="utf-8")
    config = place / "config_sentence_transformers.json"
    if not config.is_file():
        config.write_text(json.dumps(CONFIG, indent=2) + "\n", encoding="utf-8")
    if options.onnx:
        from pipeline.hub.onnx_graph import write_onnx  # noqa: PLC0415 - the extra `export`

        write_onnx(encoder, place / "onnx" / "model.onnx")
    missing = {
        "--metrics": options.metrics,
        "--base-model": options.base_model,
        "--dataset": options.dataset,
    }
    lacks = [option for option, value in missing.items() if not value]
    if lacks:
        print(f"The card would say more with {', '.join(lacks)}.")


def _measured(folder: Path, files: Sequence[Path]) -> tuple[Metrics | None, list[Metrics]]:
    """The metrics of this folder's version, and those of its objective's other seeds.

    Raises:
        InputError: a file holds no metrics, none is of this version, or one is of something else.
    """
    if not files:
        return None, []
    all_metrics = [_metrics(file) for file in files]
    version = folder_version(folder)
    own = next((metrics for metrics in all_metrics if metrics.version == version), None)
    if own is None:
        raise InputError(
            f"--metrics: none of {', '.join(map(str, files))} was measured on {folder} (version "
            f"{version}); measure it: python -m pipeline.evaluate --encoder {folder} ..."
        )
    replicates = [metrics for metrics in all_metrics if metrics is not own]
    seeds = {own.seed}
    for file, metrics in zip(files, all_metrics, strict=True):
        alike = (metrics.objective, metrics.data, metrics.tasks) == (
            own.objective,
            own.data,
            own.tasks,
        )
        if metrics is not own and (not alike or metrics.seed in seeds):
            raise InputError(
                f"--metrics: {file} is {metrics.encoder} on {metrics.data}, which is no other seed "
                f"of {own.encoder} on {own.data} with the same tasks; leave it out."
            )
        seeds.add(metrics.seed)
    return own, replicates


def _metrics(file: Path) -> Metrics:
    try:
        return Metrics.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise InputError(
            f"--metrics: {file} holds no metrics ({first_line(error)}); give a file that "
            "python -m pipeline.evaluate wrote."
        ) from error


def _scores(own: Metrics | None, replicates: Sequence[Metrics]) -> tuple[Score, ...]:
    if own is None:
        return ()
    return tuple(
        Score(
            task,
            metric,
            result.score,
            (result.score, *(other.half(half)[task].score for other in replicates)),
        )
        for half, metric in _METRICS.items()
        for task, result in own.half(half).items()
    )


def _reservations(own: Metrics | None) -> tuple[str, ...]:
    if own is None:
        return ()
    return tuple(why for half in _METRICS if own.half(half) for why in own.reservations(half))


def _upload(place: Path, options: argparse.Namespace) -> str:
    """Upload a folder; the address of the commit. The hub checks the card's metadata first."""
    api = HfApi()
    try:
        api.create_repo(options.repo, private=options.private or None, exist_ok=True)
        message = f"Upload {options.folder.parent.name}-{options.folder.name}"
        commit = api.upload_folder(folder_path=place, repo_id=options.repo, commit_message=message)
    except HfHubHTTPError as error:
        reason = (error.server_message or str(error)).strip().splitlines()[0].rstrip(".")
        raise InputError(
            f"{options.repo}: the hub refuses ({reason}); check owner and rights, or log in: "
            "hf auth login."
        ) from error
    except Exception as error:  # of whichever library the hub's package connects with
        raise InputError(
            f"{options.repo}: the hub does not answer ({type(error).__name__}: "
            f"{first_line(error)}); check the connection, and give the same command again."
        ) from error
    return str(commit.commit_url)


if __name__ == "__main__":
    raise SystemExit(main())
