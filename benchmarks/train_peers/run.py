"""A run of the benchmark: every size's contest, then the parts of its steps."""

from __future__ import annotations

import gc
import json
import time
from typing import TYPE_CHECKING, Any

import torch

from benchmarks.train_peers import overheads, sentences, summary
from benchmarks.train_peers.contestants import by_default
from benchmarks.train_peers.environment import described
from benchmarks.train_peers.markdown import markdown
from benchmarks.train_peers.peak import reference
from benchmarks.train_peers.rounds import Contest, say
from benchmarks.train_peers.sizes import SIZES
from benchmarks.train_peers.task import Task, train_settings
from pipeline.machine.device import autocast_dtype, resolve
from pipeline.machine.files import write_atomically
from pipeline.training.compilation import compiles

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

# By device: sizes, sentences a step, steps a round.
_DEFAULTS = {"cuda": (["bert-base", "embedded"], 128, 20), "cpu": (["embedded"], 64, 4)}


class Run:
    """All sizes, one after the other.

    Attributes:
        result: what is known so far; complete after `run`.
    """

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        """Read the sentences.

        Raises:
            ValueError: the device is not there, or there are too few sentences.
        """
        asked = options.device
        if asked == "auto":
            asked = "cuda" if torch.cuda.is_available() else "cpu"
        self._device, self._options, self._folder = resolve(asked), options, folder
        self._sizes, self._batch_size, self._steps = _chosen(options, self._device)
        self._peers = by_default(self._device) if options.peers is None else options.peers
        fewest = max(self._batch_size, overheads.BATCH if options.overheads else 0)
        self._sentences = sentences.read(options.prepared, folder / "prepared", fewest)
        self._peaks: list[dict[str, float]] = []
        self.result: dict[str, Any] = {
            "machine": described(self._device),
            "settings": self._settings(),
            "sentences": self._sentences.as_dict(),
            "sizes": {},
        }

    def run(self) -> None:
        """Measure; what is known is written after each phase, in case a later one is cut off."""
        start, given = time.perf_counter(), self._options
        phases = [(size, "contest", self._contest) for size in self._sizes]
        if given.overheads:
            phases += [(size, "overheads", self._overheads) for size in self._sizes]
        say(_plan(self.result["settings"], given.objectives if given.overheads else []))
        for number, (size, what, measure) in enumerate(phases, 1):
            say(f"phase {number} of {len(phases)}: {size}, {what}")
            measure(size)
            _forget()
            self.result["seconds"] = time.perf_counter() - start
            self._write()
            say(f"  done, {self.result['seconds']:.0f} s since the start")

    def _backbone(self, size: str) -> Path:
        folder = self._folder / size
        if not folder.exists():
            SIZES[size](folder)
            self._sentences.check(folder, size)
        return folder

    def _contest(self, size: str) -> None:
        task = self._task(
            self._backbone(size), self._batch_size, self._options.rounds * self._steps
        )
        contest = Contest(task, self._peers, self._folder / "trainer")
        contest.run(self._options.rounds, self._steps)
        self._peaks += contest.peaks
        self.result["peak"] = summary.peak(self._peaks, reference(self._device))
        self.result["sizes"][size] = summary.summary(contest, self._batch_size)

    def _overheads(self, size: str) -> None:
        steps = max(1, self._steps // 4)
        task = self._task(self._backbone(size), overheads.BATCH, self._options.rounds * steps)
        names = self._options.objectives
        found = overheads.overheads(task, names, self._options.rounds, steps)
        self.result["sizes"][size]["overheads"] = found

    def _task(self, folder: Path, batch_size: int, steps: int) -> Task:
        settings = train_settings(batch_size, self._sentences.meta.max_length, self._device)
        return Task(folder, self._sentences, settings, self._device, steps)

    def _settings(self) -> dict[str, Any]:
        training = train_settings(self._batch_size, self._sentences.meta.max_length, self._device)
        bf16 = autocast_dtype(training.precision, self._device) is not None
        return {
            "sizes": self._sizes,
            "peers": self._peers,
            "batch_size": self._batch_size,
            "steps": self._steps,
            "rounds": self._options.rounds,
            "training": training.model_dump(),
            "ours": {
                "precision": "bf16" if bf16 else "fp32",
                "compiled": compiles(training.compile, self._device),
            },
        }

    def _write(self) -> None:
        tflops = self.result["peak"]["tflops"][reference(self._device)]
        for size in self.result["sizes"].values():
            summary.share_of_peak(size, tflops)
        if self._options.out:
            content = json.dumps(self.result, indent=2) + "\n"
            write_atomically(self._options.out, content.encode())
        if self._options.markdown:
            write_atomically(self._options.markdown, markdown(self.result).encode())


def _chosen(options: argparse.Namespace, device: torch.device) -> tuple[list[str], int, int]:
    """Sizes, sentences a step and steps a round: as given, or as suits the device."""
    sizes, batch_size, steps = _DEFAULTS[device.type]
    return options.sizes or sizes, options.batch_size or batch_size, options.steps or steps


def _plan(settings: dict[str, Any], objectives: list[str]) -> str:
    """What will be done; how long it takes is known when everybody is warm."""
    plan = (
        f"{' and '.join(settings['sizes'])}: ours and {len(settings['peers'])} peers, batches of "
        f"{settings['batch_size']}, {settings['rounds']} rounds of {settings['steps']} steps; "
        "before them, whoever compiles takes a minute or more"
    )
    return f"{plan}; then {len(objectives)} objectives" if objectives else plan


def _forget() -> None:
    """Free what the last contestants kept, and forget their programs, whose number is limited."""
    gc.collect()
    torch.compiler.reset()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
