"""What ten minutes with a GPU can tell: is training right there, and how fast is it.

    python -m benchmarks.gpu --out gpu.jsonl

Parts run one after another in the order of their value, each in a process of its own with a time
limit, and all of them within `--minutes`. A part appends its findings to the file at once, one JSON
object a line, so that one which fails or takes too long loses nothing but its own rest. The last
line of a part says how it ended.

attention  versions, the attention kernel that is taken, and the rate at which it drops
rates      what launching, matrix products and attention cost here
losses     eager steps = compiled ones = CUDA graphs, without dropout; none of them waits
base       steps of BERT base's shape: wall, host and device time, graphs, recompiles, a profile
variants   the same with other settings
peers      the loops and the trainer of benchmarks.train_step
stage      pipeline.train with evaluations, killed and resumed
serving    encoders that the service computes on the GPU, and their agreement with reference vectors
overheads  what objectives and recording take of a step

Without a GPU all of it runs on the CPU with tiny sizes, to show that it runs.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend
from torch.profiler import ProfilerActivity, profile
from transformers import BertConfig, BertModel

from benchmarks import common, train_step
from benchmarks.common import ROOT, say
from pipeline.config.load import load
from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.folder import Layout
from pipeline.machine.device import describe, multiply_in, resolve
from pipeline.machine.stage import parser as stage_parser
from pipeline.objectives import OBJECTIVES
from pipeline.prepare import prepare
from pipeline.senteval.graded_pairs import read_dev
from pipeline.train import train
from pipeline.training import checkpoint
from pipeline.training.dev import DevSet
from pipeline.training.identity import identify
from pipeline.training.network import build
from pipeline.training.places import Places

SEED = 42
RATE = 0.1  # of dropout
NEVER = 10**6  # steps: neither evaluated nor recorded before the end
TRAIN = """
from pipeline.train import main
from pipeline.training import checkpoint

checkpoint.INTERVAL = 0
raise SystemExit(main())
"""
Write = Callable[..., None]  # appends a finding


@dataclass(frozen=True)
class Sizes:
    """How much a part does: much on a GPU, little on a CPU."""

    shape: dict[str, Any]  # of the large backbone, as BertConfig names it
    batch: int
    length: int
    steps: int  # of a timed run
    stage_steps: int
    compared: int  # steps of the part `losses`
    width: int  # of the matrices that are multiplied
    calls: int


GPU = Sizes({}, 256, 32, 200, 300, 30, 8192, 50)
TINY_SHAPE = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
}
CPU = Sizes(TINY_SHAPE, 8, 16, 12, 12, 6, 64, 3)


class Bench:
    """The device, the sizes for it, and a folder with a backbone and prepared sentences.

    The backbone has BERT base's shape, or a tiny one; its weights are random.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.backbone, self.prepared = folder / "backbone", folder / "prepared"
        self.device = resolve("cuda" if torch.cuda.is_available() else "cpu")
        self.on_gpu = self.device.type == "cuda"
        self.sizes = GPU if self.on_gpu else CPU
        if not self.prepared.exists():  # which appears whole, and last
            tokenizer = SentenceEncoder.load(train_step.EMBEDDED, "cpu").tokenizer
            bert = BertModel(BertConfig(**self.sizes.shape), add_pooling_layer=False)
            SentenceEncoder(bert, tokenizer, Layout("cls")).save(self.backbone)
            params = load(self.params())
            prepare(params.corpus, params.backbone, params.train, self.prepared)

    def seconds(self, work: Callable[[], object], calls: int = 1) -> float:
        """Wall time of a call, without the first one."""
        work()
        return train_step.seconds(work, self.device, calls) / calls

    def params(self, **settings: Any) -> Path:
        """params.yaml for that backbone, with other settings of `train`."""
        content = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
        content["backbone"] = train_step.backbone_params(self.backbone).model_dump()
        content["train"] |= {
            "max_length": self.sizes.length,
            "batch_size": self.sizes.batch,
            "learning_rate": 1e-5,
            "device": str(self.device),
            **settings,
        }
        file = self.folder / "params.yaml"
        file.write_text(yaml.safe_dump(content), encoding="utf-8")
        return file

    def places(self, name: str) -> Places:
        """Where a run writes."""
        run = self.folder / name
        tables = run / "curve.csv", run / "dynamics.csv"
        return Places(self.prepared, run / "model", *tables, run / "checkpoints")

    def trained(self, name: str, report: Callable[[int], None], **settings: Any) -> dict[str, str]:
        """Train as pipeline.train does, and call `report` after each step.

        Returns:
            What was taken for `auto`, as the encoder's record says.
        """
        places = self.places(name)
        often = {"evaluate_every": NEVER, "record_every": NEVER, "steps": self.sizes.steps}
        params = load(self.params(**often | settings))
        identity = identify(params, "info_nce", SEED, self.prepared)
        dev = DevSet(read_dev(Path(params.train.dev)), 64)
        train(identity, dev, places, lambda step, _steps, _row: report(step))
        record = json.loads((places.model / "triad.json").read_text(encoding="utf-8"))
        names = ("precision", "compile", "cuda_graphs", "attention")
        return {name: str(record["training"][name]) for name in names}


class Watch:
    """Times a run from its reports: wall time of its second half, and the host's share of it.

    The host's time of a step is what it needs to launch one, from a moment on when the device has
    nothing left to do: later steps would wait for a full queue.
    """

    HOST = 5  # steps

    def __init__(self, bench: Bench) -> None:
        self._bench, steps = bench, bench.sizes.steps
        self._half, self._end = steps // 2, steps - 1  # the last step ends with an evaluation
        self._begun = 0.0
        self.found: dict[str, float] = {}

    def __call__(self, step: int) -> None:
        """Take note of a step."""
        if step == self._half:
            train_step.wait(self._bench.device)
            self._begun = time.perf_counter()
        if step == self._half + self.HOST:
            self.found["host_ms"] = 1000 * (time.perf_counter() - self._begun) / self.HOST
        if step == self._end:
            train_step.wait(self._bench.device)
            passed = time.perf_counter() - self._begun
            self.found["wall_ms"] = 1000 * passed / (self._end - self._half)


def attention(bench: Bench, write: Write) -> None:
    """Versions, kernels, and their rates of dropout: before and after training's choice."""
    about = common.machine("torch", "transformers", "triton", "sentence-transformers", "datasets")
    cuda: dict[str, Any] = {}
    if bench.on_gpu:
        about_gpu = torch.cuda.get_device_properties(bench.device)
        cuda = {
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),  # type: ignore[no-untyped-call]
            "capability": [about_gpu.major, about_gpu.minor],
            "memory_gb": about_gpu.total_memory / 1e9,
        }
    write(machine=about | {"device": describe(bench.device)} | cuda)
    for choice in ("torch's choice", "training's choice"):
        if choice == "training's choice":
            params = load(bench.params())
            build(params.backbone, params.train, bench.device)
        for dtype in (torch.bfloat16, torch.float32):
            for masked in (False, True):
                rate, kernel = drop_rate(bench.device, dtype, masked=masked)
                write(chosen=choice, dtype=str(dtype), masked=masked, kernel=kernel, rate=rate)


def drop_rate(device: torch.device, dtype: torch.dtype, *, masked: bool) -> tuple[float, str]:
    """The share of attention weights that become zero at a dropout of `RATE`, and the kernel.

    With equal scores every weight is 1/L, and with the identity as values the output is weights.
    """
    length, heads = 64, 12
    zero = torch.zeros(256, heads, length, length, dtype=dtype, device=device)
    values = torch.eye(length, dtype=dtype, device=device).expand_as(zero).contiguous()
    everything = torch.ones(256, 1, 1, length, dtype=torch.bool, device=device)
    mask = everything if masked else None
    weights = F.scaled_dot_product_attention(zero, zero, values, mask, RATE)
    choice = torch._fused_sdp_choice(zero, zero, values, mask, RATE)  # noqa: SLF001 - no other name
    return float((weights == 0).float().mean()), SDPBackend(choice).name.lower()


def rates(bench: Bench, write: Write) -> None:
    """Microseconds of a launch; TFLOPS of matrix products; milliseconds of attention."""
    sizes, device = bench.sizes, bench.device
    number = torch.zeros(1, device=device)
    write(launch_us=1e6 * bench.seconds(partial(number.add_, 1.0), 20 * sizes.calls))
    products = {"bf16": torch.bfloat16, "f16": torch.float16, "fp32": torch.float32}
    if bench.on_gpu:
        products["tf32"] = torch.float32
    for name, dtype in products.items():
        multiply_in("tf32" if name == "tf32" else "fp32", device)
        matrix = torch.randn(sizes.width, sizes.width, dtype=dtype, device=device)
        took = bench.seconds(partial(torch.mm, matrix, matrix), sizes.calls)
        write(product=name, width=sizes.width, tflops=2 * sizes.width**3 / took / 1e12)
    shape = (2 * sizes.batch, 12, sizes.length, 64)
    states = torch.randn(shape, dtype=torch.bfloat16, device=device, requires_grad=True)

    def attended() -> None:
        out = F.scaled_dot_product_attention(states, states, states, dropout_p=RATE)
        out.sum().backward()  # type: ignore[no-untyped-call]

    write(attention_shape=list(shape), forward_and_backward_ms=1000 * bench.seconds(attended, 3))


def losses(bench: Bench, write: Write) -> None:
    """Losses of the embedded backbone, without dropout, by each way of taking a step.

    Gradient caching in one part is what compiles without CUDA graphs. On a GPU a step that waits
    for the device fails.
    """
    sizes = bench.sizes
    ways: dict[str, dict[str, Any]] = {
        "eager": {"compile": "off"},
        "compiled": {"compile": "on", "chunk_size": sizes.batch},
    }
    if bench.on_gpu:
        ways["compiled, graphs"] = {"compile": "on"}
        ways["captured"] = {"compile": "off", "capture": True}
        ways["compiled, captured"] = {"compile": "on", "capture": True}
    for precision in ("fp32", "bf16") if bench.on_gpu else ("fp32",):
        eager: list[float] = []
        for name, way in ways.items():
            way_losses, execution = few_losses(bench, {"precision": precision, **way})
            eager = eager or way_losses
            write(
                way=name,
                precision=precision,
                execution=execution,
                losses=way_losses,
                greatest_difference=float(np.abs(np.subtract(way_losses, eager)).max()),
            )


def few_losses(bench: Bench, settings: dict[str, Any]) -> tuple[list[float], str]:
    """Of some steps, and how they were taken; they are read at the end only."""
    folder = train_step.EMBEDDED if bench.on_gpu else bench.backbone
    task = train_step.Task(folder, bench.device, bench.sizes.batch, bench.sizes.compared)
    own = task.settings.model_copy(update=settings)
    network, step = train_step.our_step(task, own, OBJECTIVES["vicreg_modified"]())
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0

    def taken(rows: np.ndarray) -> Tensor:
        ids, mask = task.collate(rows)
        ids[len(rows) :, 1] += 1  # the second views, in place of other dropout
        return step(ids, mask, 1.0).loss.clone()

    for rows in [*task.first, *task.first]:  # a captured step is captured at the second one
        taken(rows)
    if bench.on_gpu:
        torch.cuda.set_sync_debug_mode("error")
    outcomes = [taken(rows) for rows in task.batches]
    if bench.on_gpu:
        torch.cuda.set_sync_debug_mode("default")
    return torch.stack(outcomes).tolist(), step.execution.sentence()


def base(bench: Bench, write: Write) -> None:
    """The step as it is by default."""
    watch = Watch(bench)
    execution = bench.trained("base", watch)
    write(**watch.found, taken=execution, counters=counters())
    profiler = profile(activities=[ProfilerActivity.CUDA if bench.on_gpu else ProfilerActivity.CPU])
    steps = min(20, bench.sizes.steps)

    def follow(step: int) -> None:
        if step in (steps // 2, steps - 1):
            train_step.wait(bench.device)
            (profiler.start if step == steps // 2 else profiler.stop)()

    bench.trained("profiled", follow, steps=steps)
    spent = sorted(profiler.key_averages(), key=lambda event: -own_time(bench, event))
    profiled = steps - 1 - steps // 2
    write(
        profiled_steps=profiled,
        device_ms=sum(own_time(bench, event) for event in spent) / 1000 / profiled,
        top=[[event.key[:100], own_time(bench, event) / 1000, event.count] for event in spent[:30]],
    )


def own_time(bench: Bench, event: Any) -> float:
    """Microseconds of an event, without what it calls."""
    spent = event.self_device_time_total if bench.on_gpu else event.self_cpu_time_total
    return float(spent)


def counters() -> dict[str, Any]:
    """What the compiler counted: graphs, breaks of them, and those that CUDA could not replay."""
    from torch._dynamo.utils import counters as counted  # noqa: PLC0415 - a second to import

    return {name: dict(values) for name, values in counted.items() if values}


def attempt(write: Write, what: dict[str, Any], work: Callable[[], dict[str, Any]]) -> None:
    """Write what one of several things gives, or why it failed: the others are to run."""
    torch.compiler.reset()
    try:
        write(**what, **work())
    except Exception as error:  # noqa: BLE001 - whatever it is
        write(**what, failed=repr(error)[:500])


def variants(bench: Bench, write: Write) -> None:
    """The same step with other settings, those first that say most."""
    half = bench.sizes.batch // 2
    settings: list[dict[str, Any]] = [
        {"packed": True},
        {"compile": "off"},
        {"chunk_size": half},
        {"batch_size": half},
    ]
    if bench.on_gpu:
        settings[:0] = [{"capture": True}, {"capture": True, "packed": True}]
        settings += [{"precision": "tf32"}, {"precision": "fp32"}]
        settings += [{"batch_size": 2 * bench.sizes.batch}]

    def timed(name: str, variant: dict[str, Any]) -> dict[str, Any]:
        watch = Watch(bench)
        return {"taken": bench.trained(name, watch, **variant), **watch.found}

    for number, variant in enumerate(settings):
        attempt(write, {"settings": variant}, partial(timed, f"variant{number}", variant))


def peers(bench: Bench, write: Write) -> None:
    """What others take for the same batches, in the precision that `auto` chooses."""
    sizes = bench.sizes
    task = train_step.Task(bench.backbone, bench.device, sizes.batch, sizes.steps // 2)
    contestants: dict[str, Callable[[], train_step.Contestant]] = {
        "ours": partial(train_step.ours, task),
        "trainer": partial(train_step.trainer, task),
        "eager": partial(train_step.plain, task, None),
    }
    if bench.on_gpu:
        for mode in ("default", "reduce-overhead"):
            contestants[f"compiled, {mode}"] = partial(train_step.plain, task, mode)

    def timed(make: Callable[[], train_step.Contestant]) -> dict[str, float]:
        contestant = make()
        contestant(task.first)
        return {"wall_ms": 1000 * contestant(task.batches) / len(task.batches)}

    for name, make in contestants.items():
        attempt(write, {"peer": name}, partial(timed, make))


def stage(bench: Bench, write: Write) -> None:
    """The command: uninterrupted, then killed after a checkpoint and resumed; are both equal."""
    steps = bench.sizes.stage_steps
    params = bench.params(steps=steps, evaluate_every=max(1, steps // 6), record_every=10)
    curves = []
    for name in ("whole", "killed"):
        places = bench.places(name)
        begun = time.perf_counter()
        if name == "killed":
            write(killed_after=killed(command(params, places), places))
        completed = subprocess.run(  # noqa: S603 - our own command
            command(params, places), cwd=ROOT, check=True, capture_output=True, text=True
        )
        took = time.perf_counter() - begun
        write(run=name, seconds=took, said=completed.stdout.splitlines()[-2:])
        curves.append(places.curve.read_text(encoding="utf-8"))
    write(curves_equal=curves[0] == curves[1], curves=curves)


def command(params: Path, places: Places) -> list[str]:
    """pipeline.train for a run, with a checkpoint at each evaluation and not once a minute."""
    paths = {"params": params, "prepared": places.prepared, "model": places.model}
    paths |= {"curve": places.curve, "dynamics": places.dynamics}
    paths |= {"checkpoints": places.checkpoints}
    options = [text for key, path in paths.items() for text in (f"--{key}", str(path))]
    own = ["--objective", "info_nce", "--seed", str(SEED)]
    return [sys.executable, "-c", TRAIN, *own, *options]


def killed(arguments: Sequence[str], places: Places) -> float | None:
    """Start a run and kill it once it has left a checkpoint.

    Returns:
        Seconds that it lived; None if it ended before.
    """
    begun = time.perf_counter()
    with subprocess.Popen(  # noqa: S603 - see `command`
        arguments, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as run:
        while run.poll() is None and not (places.checkpoints / checkpoint.NAME).exists():
            time.sleep(0.005)
        run.send_signal(signal.SIGKILL)
    return time.perf_counter() - begun if run.returncode else None


def serving(bench: Bench, write: Write) -> None:
    """The service's backends on the device: agreement, and texts a second of one thread."""
    from serve.encoders.backends import BACKENDS, self_test  # noqa: PLC0415 - may not be installed
    from serve.encoders.export import export  # noqa: PLC0415
    from serve.encoders.exported import Exported  # noqa: PLC0415

    sizes = bench.sizes
    folders = [ROOT / "encoders/reference/vicreg_modified", bench.backbone]
    for folder in folders:
        exported = Exported.load(export(folder, bench.folder / "exports"))
        ids = np.full((sizes.batch, sizes.length), 7, np.int64)
        for name, opened in BACKENDS["cuda" if bench.on_gpu else "cpu"].items():
            if name.startswith("torch"):
                embed, _ = opened(exported, folder, 1)
                took = bench.seconds(partial(embed, ids, np.ones_like(ids)), sizes.calls)
                agreement = self_test(exported, embed)
                write(
                    encoder=folder.name,
                    backend=name,
                    agreement=agreement,
                    texts_a_second=sizes.batch / took,
                )


def overheads(bench: Bench, write: Write) -> None:
    """See benchmarks.train_step; eager here, as a compiler for each loss would take minutes."""
    sizes = bench.sizes
    task = train_step.Task(bench.backbone, bench.device, sizes.batch, 2 * sizes.compared)
    task.settings = task.settings.model_copy(update={"compile": "off"})
    write(**train_step.overheads(task, 2, sizes.calls))


@dataclass(frozen=True)
class Part:
    """A part and its limit."""

    run: Callable[[Bench, Write], None]
    seconds: float  # of ten minutes


PARTS = {
    "attention": Part(attention, 60),
    "rates": Part(rates, 45),
    "losses": Part(losses, 120),
    "base": Part(base, 120),
    "variants": Part(variants, 150),
    "peers": Part(peers, 120),
    "stage": Part(stage, 120),
    "serving": Part(serving, 60),
    "overheads": Part(overheads, 60),
}


def append(out: Path, **found: Any) -> None:
    """Add a line to the file, for good."""
    with out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(found) + "\n")
        file.flush()
        os.fsync(file.fileno())


def run_part(name: str, out: Path, folder: Path, limit: float) -> tuple[int | None, str]:
    """In a process of its own: its exit status, None where its time was over; its last words."""
    if limit <= 0:
        return None, "no time was left"
    own = [sys.executable, "-m", "benchmarks.gpu", "--part", name]
    own += ["--out", str(out), "--folder", str(folder)]
    with (folder / f"{name}.log").open("w+", encoding="utf-8") as log:
        part = subprocess.Popen(  # noqa: S603 - this module
            own, cwd=ROOT, stdout=log, stderr=log, start_new_session=True
        )
        try:
            status = part.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
        finally:  # with the processes that it has started
            if part.poll() is None:
                os.killpg(part.pid, signal.SIGKILL)
                part.wait()
        log.seek(0)
        return status, log.read()[-1500:]


def main() -> int:
    """Command line; the exit status is the number of parts that failed."""
    parser = stage_parser("benchmarks.gpu", __doc__)
    parser.add_argument("--out", type=Path, required=True, help="file that lines are added to")
    parser.add_argument("--minutes", type=float, default=9.5, help="for all parts together (9.5)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    out = options.out.resolve()
    if options.part:
        PARTS[options.part].run(Bench(options.folder), partial(append, out, part=options.part))
        return 0
    end = time.monotonic() + 60 * options.minutes
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in options.parts:
            begun = time.monotonic()
            limit = min(PARTS[name].seconds * options.minutes / 10, end - begun)
            status, last = run_part(name, out, Path(folder), limit)
            took = time.monotonic() - begun
            append(out, part=name, status=status, seconds=took, last=last)
            failed += status != 0
            say(f"{name}: {'done' if status == 0 else 'failed'} after {took:.0f} s")
    return failed


if __name__ == "__main__":
    sys.exit(main())
