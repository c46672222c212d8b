"""Which encoders are served: found, exported, self-tested, replaced when their folders change.

A new encoder takes the place of the old one only when it is loaded, warm and gives its reference
vectors; requests that have the old one finish with it. One that cannot be used is refused with the
reason in the log, and the old one stays; so it does when its folder is gone. Not here: what is told
about encoders (cards.py).
"""

import json
import logging
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.encoder.version import folder_version
from pipeline.machine.errors import InputError
from serve.encoders.backends import Backend, choose
from serve.encoders.exported import Description, Exported, ExportError
from serve.encoders.exporting import export_missing
from serve.encoders.reference_texts import TEXTS
from serve.encoders.text import TextTokenizer
from serve.metrics import Metrics
from serve.settings import ServeParams

log = logging.getLogger("serve.encoders.registry")

# Texts and tokens that a fresh backend sees before users' texts, so that theirs are not the first.
_WARM_UP = ((1, 8), (1, 32), (8, 32), (32, 32))

Signature = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, eq=False)
class ServedEncoder:
    """An encoder that is loaded and has passed its self test.

    `record` is its triad.json, as it was when the encoder was loaded; None for one that Triad did
    not train.
    """

    id: str
    version: str
    folder: Path
    created: int
    record: dict[str, Any] | None
    exported: Exported
    tokenizer: TextTokenizer
    backend: Backend

    @property
    def description(self) -> Description:
        """What is known of it."""
        return self.exported.description

    def prompt(self, name: str | None) -> str:
        """What is put before a text; `name` is one of its prompts, or None for the default."""
        name = self.description.default_prompt if name is None else name
        return "" if name is None else self.description.prompts[name]


class Registry:
    """The served encoders by id; `encoders` is replaced as a whole, never changed.

    Args:
        params: where encoders are, and which backend computes.
        threads: how many will compute at once.
        metrics: what is counted.
    """

    def __init__(self, params: ServeParams, threads: int, metrics: Metrics) -> None:
        self._params = params
        self._threads = threads
        self._metrics = metrics
        self._seen: dict[str, Signature] = {}
        self._exports: set[str] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="registry", daemon=True)
        self.encoders: dict[str, ServedEncoder] = {}
        self.refused: dict[str, str] = {}
        self.loaded = False

    def start(self) -> None:
        """Load everything in the background, then look for changes."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more; what is being loaded is finished first."""
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            try:
                self.refresh()
            except Exception:
                log.exception("looking for encoders failed")
            self.loaded = True
            if self._stop.wait(self._params.reload_seconds or None):
                return

    def refresh(self) -> None:
        """Load what is new or has changed since the last look.

        What was refused is also tried again when something was put among the exports, and forgotten
        when it is gone.
        """
        candidates = self._candidates()
        self._seen = {name: seen for name, seen in self._seen.items() if name in candidates}
        self.refused = {name: why for name, why in self.refused.items() if name in candidates}
        exports = _listed(Path(self._params.exported))
        again = self.refused if exports - self._exports else {}
        self._exports = exports
        changed = {}
        for name, folder in candidates.items():
            signature = _signature(folder)
            if signature != self._seen.get(name) or name in again:
                self._seen[name] = signature
                changed[name] = folder
        for name, reason in export_missing(changed, Path(self._params.exported), self._stop):
            if self._stop.is_set():
                return
            try:
                self._load(name, changed[name])
            except Exception as error:  # noqa: BLE001 - readers of damaged files raise anything
                self._refuse(name, reason or str(error))

    def _refuse(self, name: str, reason: str) -> None:
        self.refused[name] = reason
        self._metrics.reloads.labels("refused").inc()
        outcome = "the loaded one stays" if name in self.encoders else "it is not served"
        log.warning("encoder %s refused, %s: %s", name, outcome, reason)

    def _candidates(self) -> dict[str, Path]:
        folders = {}
        if self._params.models is not None:
            for modules in sorted(Path(self._params.models).glob("*/*/modules.json")):
                folder = modules.parent
                if not folder.parent.name.startswith(".") and not folder.name.startswith("."):
                    folders[f"{folder.parent.name}-{folder.name}"] = folder
        return folders | {name: Path(folder) for name, folder in self._params.encoders.items()}

    def _load(self, name: str, folder: Path) -> None:
        begun = time.perf_counter()
        if not self._seen[name]:
            raise InputError(f"{folder}: there is no such folder, or nothing in it.")
        version, record = folder_version(folder), read_object(folder / "triad.json")
        old = self.encoders.get(name)
        if old is not None and old.version == version:
            self.refused.pop(name, None)
            return
        exported = Exported.load(Path(self._params.exported) / version)
        tokenizer = exported.tokenizer()
        ids = [tokenizer.cut(row) for row in tokenizer.encode(TEXTS)]
        if ids != exported.reference_vectors.ids:
            raise ExportError("its tokenizer.json does not give the reference token ids.")
        params = self._params
        backend = choose(exported, folder, params.backend, self._threads, params.device)
        warm_up(backend, tokenizer)
        created = int(folder.stat().st_mtime)
        new = ServedEncoder(name, version, folder, created, record, exported, tokenizer, backend)
        self.encoders = self.encoders | {name: new}
        self.refused.pop(name, None)
        if old is not None:
            self._metrics.encoders.remove(name, old.version, old.backend.name)
        self._metrics.encoders.labels(name, version, backend.name).set(1)
        self._metrics.reloads.labels("loaded").inc()
        if not (folder / "modules.json").is_file():
            log.warning(
                "encoder %s: %s has no modules.json, so its token states are pooled by %s, as "
                "sentence-transformers does",
                name,
                folder,
                exported.description.pooling,
            )
        log.info(
            "encoder %s %s: %s, cosine %.6f to torch, %.1f s",
            name,
            version,
            backend.name,
            backend.agreement,
            time.perf_counter() - begun,
        )


def read_object(file: Path) -> dict[str, Any] | None:
    """The JSON object in a file; None where there is none."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def warm_up(backend: Backend, tokenizer: TextTokenizer) -> None:
    """Let a backend compute the usual shapes once."""
    token = tokenizer.tail[0] if tokenizer.tail else 0
    for texts, length in _WARM_UP:
        ids = np.full((texts, min(length, tokenizer.max_length)), token, np.int64)
        for embed in {backend.embed, backend.embed_alone}:
            embed(ids, np.ones_like(ids))


def _listed(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def _signature(folder: Path) -> Signature:
    """What changes when a file does; empty if the folder is gone."""
    signature = []
    for path in sorted(folder.rglob("*")):
        try:
            status = path.stat()
        except OSError:
            continue  # removed meanwhile
        if path.is_file():
            place = path.relative_to(folder).as_posix()
            signature.append((place, status.st_size, status.st_mtime_ns))
    return tuple(signature)
