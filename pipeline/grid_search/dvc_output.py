"""What DVC and a stage's log say about an experiment, from their text. Calls nothing."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

STAGE_SENTENCE = re.compile(r"^(?:prepare|train|evaluate): (.+)$")
EXIT_CODE = re.compile(r"^ERROR: failed to reproduce .* exited with (-?\d+)$")
COPY = re.compile(r"\S*/\.dvc/tmp/exps/tmp[^/\s]*/")  # where the run's copy of the repository was
LONGEST_REASON = 300


@dataclass(frozen=True)
class Entry:
    """One experiment of `dvc exp show --json`.

    Attributes:
        state: `success`, `failed`, `running` or `queued`.
        rev: its commit; that of the stash while it is in the queue.
        pid: the process that runs it or ran it.
        metrics: content of the metrics files by path; of a finished experiment they are its own, of
            any other one those that its commit held before.
    """

    state: str
    rev: str
    pid: int | None
    metrics: dict[str, Any]


# An experiment that was queued again after its worker vanished stands there more than once.
PRECEDENCE = ("success", "queued", "running", "failed")


def entries(shown: str, commit: str, names: Collection[str]) -> dict[str, list[Entry]]:
    """The named experiments of the commit, of each name the one that says most first."""
    found: dict[str, list[Entry]] = {name: [] for name in names}
    for baseline in json.loads(shown):
        experiments = baseline.get("experiments") or [] if baseline["rev"] == commit else []
        for experiment in experiments:
            if experiment["name"] in found:
                found[experiment["name"]].append(_entry(experiment))
    for several in found.values():
        several.sort(key=lambda entry: PRECEDENCE.index(entry.state))
    return found


def _entry(experiment: dict[str, Any]) -> Entry:
    tip = experiment["revs"][0]
    executor = experiment["executor"] or {}
    local = executor.get("local") or {}
    files = (tip["data"] or {}).get("metrics") or {}
    metrics = {path: file["data"] for path, file in files.items() if "data" in file}
    # Without an executor it is a finished one whose task was taken out of the queue.
    return Entry(executor.get("state", "success"), tip["rev"], local.get("pid"), metrics)


def failure(log: str) -> str | None:
    """Why a run failed by itself, in one line; None if it was cut off."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    ended = [i for i, line in enumerate(lines) if EXIT_CODE.match(line)]
    if not ended:
        return None
    code = EXIT_CODE.match(lines[ended[0]])
    if code is None or code[1] != "1":  # a signal ended it: 130, -9, ...
        return None
    said = lines[: ended[0]]
    starts = [i for i, line in enumerate(said) if STAGE_SENTENCE.match(line)]
    # A sentence may go on in further lines; without one, a traceback's last line says most.
    reason = " ".join(said[starts[-1] :]) if starts else " ".join(said[-1:])
    return COPY.sub("", reason)[:LONGEST_REASON] or "it said nothing"


def best_step(curve: str) -> int | None:
    """The first step of a training curve (CSV) with its highest dev score."""
    rows = [row for row in csv.DictReader(io.StringIO(curve)) if row.get("dev_spearman")]
    top = max(rows, key=lambda row: float(row["dev_spearman"]), default=None)
    return None if top is None else int(top["step"])
