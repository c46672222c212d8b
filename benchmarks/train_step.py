"""How fast a training step is, beside plain loops and the sentence-transformers trainer.

    python -m benchmarks.train_step --overheads --out FILE.json --markdown FILE.md

All train one model with InfoNCE (temperature 0.05) on the same batches of the sample's sentences,
two views each, in the precision that `precision: auto` chooses here:

ours      the step of pipeline.train, with `compile: auto`
packed    that step with `packed: true`: linear layers see no padding
loop      the same model in a plain loop
compiled  that loop under torch.compile in its default mode
trainer   SentenceTransformerTrainer with MultipleNegativesRankingLoss, on the sentences as text;
          its time includes tokenizing and its work on the host, since who uses it pays for that

`--size bert-base` takes BERT base's shape with random weights in place of the backbone of this
repository. All run in one process and take turns, in another order each round, after first steps
that are not counted; "ours faster" is a peer's time to ours of the same round. What an environment
lacks is left out, and the report says why.

`--overheads` adds what each objective, and recording its components, take of a step of 512
sentences, each timed by itself, forward and backward. Times mean nothing beside those of another
run or machine.
"""

import importlib
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import BertConfig, BertModel, PrinterCallback, TrainerCallback

from benchmarks import common
from benchmarks.common import ROOT, ratios, say, shown, spread
from pipeline.config.load import load
from pipeline.config.schema import BackboneParams, TrainParams
from pipeline.data.tokens import TokenArrays
from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.folder import Layout
from pipeline.machine.device import autocast_dtype, describe, resolve
from pipeline.machine.errors import InputError
from pipeline.objectives import OBJECTIVES, Objective
from pipeline.results.layout import markdown_table
from pipeline.training.batches import Collate, batch_indices, collator
from pipeline.training.compilation import compiles
from pipeline.training.dynamics import dynamics
from pipeline.training.network import TrainingNetwork, build
from pipeline.training.packed import UNIT, packing
from pipeline.training.processes import ALONE
from pipeline.training.step import Step

Batches = list[np.ndarray]  # indices of sentences
Contestant = Callable[[Batches], float]  # trains on them; seconds of wall time

EMBEDDED = ROOT / "backbones" / "bert-mini-wiki"
LENGTH = 32  # tokens that sentences are cut to
SEED = 42
TEMPERATURE = 0.05
OVERHEADS_BATCH = 512
IN_WORDS = {
    "ours": "ours",
    "packed": "ours, packed tokens",
    "loop": "plain loop",
    "compiled": "plain loop, torch.compile",
    "trainer": "sentence-transformers trainer",
}


class Task:
    """One backbone, the sentences, and how they are trained on.

    Attributes:
        batches: of all rounds together.
        first: a batch of each length and number of tokens among them, since each may be compiled,
            and two more, since the second records a CUDA graph.
    """

    def __init__(self, folder: Path, device: torch.device, batch: int, steps: int) -> None:
        self.folder, self.device = folder, device
        self.bf16 = autocast_dtype("auto", device) is not None
        encoder = SentenceEncoder.load(folder, "cpu")
        self.dimension = encoder.dimension
        self.texts = common.sentences()
        tokenizer = encoder.tokenizer
        ids = tokenizer(self.texts, truncation=True, max_length=LENGTH)["input_ids"]
        tokens = TokenArrays.of(ids, vocabulary=len(tokenizer))
        self.collate = collator(tokens, tokenizer.pad_token_id, LENGTH, device)
        self.lengths = tokens.lengths
        self.batches = list(islice(batch_indices(len(tokens), batch, SEED), steps))
        of_each_shape = {
            (int(own.max()), -(-2 * int(own.sum()) // UNIT)): rows
            for rows, own in ((rows, self.lengths[rows]) for rows in self.batches)
        }
        self.first = [*of_each_shape.values(), *self.batches[:2]]
        self.settings = load(ROOT / "params.yaml").train.model_copy(
            update={
                "max_length": LENGTH,
                "batch_size": batch,
                "learning_rate": 3e-5,
                "head": "mlp",
                "freeze_embeddings": False,
                "precision": "auto",
                "compile": "auto",
                "packed": False,
                "capture": False,
                "chunk_size": None,
            }
        )


def save_backbone(size: str, folder: Path) -> None:
    """What is trained, in float32; random weights cost the same time as others."""
    encoder = SentenceEncoder.load(EMBEDDED, "cpu")
    if size == "bert-base":
        bert = BertModel(BertConfig(), add_pooling_layer=False)
        encoder = SentenceEncoder(bert, encoder.tokenizer, Layout("cls"))
    encoder.save(folder)


def wait(device: torch.device) -> None:
    """For all that the device still has to do."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(work: Callable[[], object], device: torch.device, calls: int = 1) -> float:
    """Wall time of so many calls, with all that they leave the device to do."""
    wait(device)
    start = time.perf_counter()
    for _ in range(calls):
        work()
    wait(device)
    return time.perf_counter() - start


def loop(
    task: Task, step: Callable[[Tensor, Tensor], object], collate: Collate | None = None
) -> Contestant:
    """A contestant that takes a step with each batch of token ids."""
    collate = collate or task.collate

    def train(batches: Batches) -> None:
        for rows in batches:
            step(*collate(rows))

    return lambda batches: seconds(partial(train, batches), task.device)


def backbone_params(folder: Path) -> BackboneParams:
    """A local backbone that is trained on its [CLS] token."""
    return BackboneParams(source=str(folder), watch=str(folder), revision=None, pooling="cls")


def our_step(
    task: Task, settings: TrainParams, objective: Objective
) -> tuple[TrainingNetwork, Step]:
    """The network that pipeline.train would build, and its step."""
    torch.manual_seed(SEED)
    _, network = build(backbone_params(task.folder), settings, task.device)
    return network, Step(network, objective, settings, ALONE)


def ours(task: Task, *, packed: bool = False) -> Contestant:
    """Our step, as pipeline.train takes it."""
    settings = task.settings.model_copy(update={"packed": packed})
    network, step = our_step(task, settings, OBJECTIVES["info_nce"](temperature=TEMPERATURE))
    few = network.few_lengths
    collate = packing(task.collate, task.lengths, settings, few_shapes=few)
    return loop(task, partial(step, lr_scale=1.0), collate)


def plain(task: Task, mode: str | None) -> Contestant:
    """The same model in a loop as one would write it with torch and transformers.

    Args:
        task: what is trained on.
        mode: of torch.compile, such as `default`; None: it is not compiled.

    Raises:
        InputError: there is no compiler.
    """
    torch.manual_seed(SEED)
    encoder = SentenceEncoder.load(task.folder, str(task.device))
    transformer = encoder.model.train()
    head = nn.Sequential(nn.Linear(encoder.dimension, encoder.dimension), nn.Tanh())
    parameters = [*transformer.parameters(), *head.to(task.device).parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=3e-5, weight_decay=0.0)

    def embed(ids: Tensor, mask: Tensor) -> Any:
        return head(transformer(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0])

    if mode:
        compiles("on", task.device)
        embed = torch.compile(embed, mode=mode)

    def step(ids: Tensor, mask: Tensor) -> None:
        with torch.autocast(task.device.type, torch.bfloat16, enabled=task.bf16):
            embeddings = embed(ids, mask)
        anchor, positive = F.normalize(embeddings.float(), dim=1).chunk(2)
        labels = torch.arange(len(anchor), device=task.device)
        loss = F.cross_entropy(anchor @ positive.T / TEMPERATURE, labels)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()

    return loop(task, step)


def trainer(task: Task) -> Contestant:
    """SentenceTransformerTrainer; each call is a training of its own, from the backbone.

    Two steps precede the batches that are timed.

    Raises:
        ImportError: sentence-transformers, datasets or accelerate is not installed.
        InputError: it would train on several GPUs.
    """
    st: Any = importlib.import_module("sentence_transformers")
    importlib.import_module("accelerate")
    from datasets import Dataset  # noqa: PLC0415 - may be missing
    from sentence_transformers.sentence_transformer import losses, modules  # noqa: PLC0415

    if torch.cuda.device_count() > 1 and task.device.type == "cuda":
        raise InputError("the trainer takes all GPUs that it sees; set CUDA_VISIBLE_DEVICES=0")

    class Clock(TrainerCallback):
        """Notes when step 2 and the last one have ended."""

        def __init__(self) -> None:
            self.times: list[float] = []

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002 - its base's
            if state.global_step in {2, state.max_steps}:
                wait(task.device)
                self.times.append(time.perf_counter())

    def train(batches: Batches) -> float:
        torch.manual_seed(SEED)
        rows = np.concatenate([*batches[:1] * 2, *batches])
        texts = [task.texts[row] for row in rows]
        model = st.SentenceTransformer(
            str(task.folder), device=str(task.device), model_kwargs={"add_pooling_layer": False}
        )
        model.model_card_data.widget = [{}]  # else its model card looks for examples
        model.max_seq_length = LENGTH
        model.append(modules.Dense(task.dimension, task.dimension).to(task.device))  # with tanh
        arguments = st.SentenceTransformerTrainingArguments(
            output_dir=str(task.folder.parent / "trainer"),
            max_steps=2 + len(batches),
            per_device_train_batch_size=len(batches[0]),
            learning_rate=3e-5,
            bf16=task.bf16,
            use_cpu=task.device.type == "cpu",
            seed=SEED,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )
        clock = Clock()
        loss = losses.MultipleNegativesRankingLoss(model, scale=1 / TEMPERATURE)
        training = st.SentenceTransformerTrainer(
            model=model,
            args=arguments,
            train_dataset=Dataset.from_dict({"anchor": texts, "positive": texts}),
            loss=loss,
            callbacks=[clock],
        )
        training.remove_callback(PrinterCallback)
        training.train()
        return clock.times[1] - clock.times[0]

    return train


def contest(task: Task, rounds: int) -> dict[str, Any]:
    """Ours and its peers warm up, then take turns."""
    peers = {
        "packed": partial(ours, task, packed=True),
        "loop": partial(plain, task, None),
        "compiled": partial(plain, task, "default"),
        "trainer": partial(trainer, task),
    }
    contestants = {"ours": ours(task)}
    contestants["ours"](task.first)
    not_run: dict[str, str] = {}
    for name, make in peers.items():
        try:
            train = make()
            say(f"{name}: warm after {train(task.first):.1f} s")
            contestants[name] = train
        except (ImportError, InputError, RuntimeError) as error:
            not_run[name] = str(error).splitlines()[0]
            say(f"{name}: not run, {not_run[name]}")
    steps = len(task.batches) // rounds
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds):
        order = list(contestants)
        for name in order[number % len(order) :] + order[: number % len(order)]:
            batches = task.batches[number * steps : (number + 1) * steps]
            times[name].append(1000 * contestants[name](batches) / steps)
            say(f"round {number + 1}, {name}: {times[name][-1]:.1f} ms a step")
    return {
        "contestants": {
            name: {
                "step_ms": spread(own),
                "ours_faster": ratios(own, times["ours"]),
                "sentences_per_second": 1000 * len(task.batches[0]) / spread(own)["median"],
            }
            for name, own in times.items()
        },
        "not_run": not_run,
    }


def overheads(task: Task, rounds: int, calls: int) -> dict[str, Any]:
    """What objectives and recording cost, interleaved with our step.

    Objectives are not compiled here. In a step on CUDA, launching them can hide behind work that
    the device still has: shares are upper bounds.
    """
    step = ours(task)
    step(task.first)
    views = near_views(task)
    works: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {}
    for name, kind in OBJECTIVES.items():
        objective = kind()
        works[name] = partial(backward, objective, views), partial(dynamics, objective, *views)
        for work in works[name]:
            work()
    whole: list[float] = []
    parts: dict[str, list[list[float]]] = {name: [] for name in works}
    for number in range(rounds):
        batches = task.batches[number::rounds]
        whole.append(1000 * step(batches) / len(batches))
        say(f"round {number + 1}: {whole[-1]:.1f} ms a step")
        for name, pair in works.items():
            parts[name].append([1000 * seconds(work, task.device, calls) / calls for work in pair])
    every = task.settings.record_every
    objectives = {}
    for name, times in parts.items():
        loss_ms, recording_ms = zip(*times, strict=True)
        objectives[name] = {
            "loss_ms": spread(loss_ms),
            "loss_share": ratios(loss_ms, whole),
            "recording_ms": spread(recording_ms),
            "recording_share": ratios([one / every for one in recording_ms], whole),
        }
    return {
        "record_every": every,
        "step_ms": spread(whole),
        "objectives": objectives,
    }


def backward(objective: Objective, views: tuple[Tensor, Tensor]) -> None:
    """An objective forward and backward, on leaves."""
    for view in views:
        view.grad = None
    objective.loss(*views).backward()  # type: ignore[no-untyped-call]


def near_views(task: Task) -> tuple[Tensor, Tensor]:
    """Leaves (N, D) like a trained encoder's views, the second near the first, in its dtype."""
    torch.manual_seed(SEED)
    first = torch.randn(OVERHEADS_BATCH, task.dimension)
    second = first + 0.5 * torch.randn(OVERHEADS_BATCH, task.dimension)
    dtype = autocast_dtype(task.settings.precision, task.device) or torch.float32
    leaves = [view.tanh().to(task.device, dtype).requires_grad_() for view in (first, second)]
    return leaves[0], leaves[1]


def markdown(result: dict[str, Any]) -> str:
    """Both tables, and what they are about."""
    about, settings = result["machine"], result["settings"]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    lines = [["", "ms a step", "ours faster", "sentences/s"]]
    lines += [
        [
            IN_WORDS[name],
            shown(of["step_ms"], 1),
            shown(of["ours_faster"], 2),
            f"{of['sentences_per_second']:,.0f}",
        ]
        for name, of in result["contestants"].items()
    ]
    not_run = "".join(f"- not run: {name}: {why}\n" for name, why in result["not_run"].items())
    text = f"""\
{about["device"]} ({about["cpu"]}, {about["cores"]} cores), {about["date"]}; {versions}.
Sentences of the sample, cut to {LENGTH} tokens. All run in {settings["precision"]}, ours \
{settings["compiled"]}, as `precision: auto` and `compile: auto` choose here.
The trainer's time includes tokenizing, collating and its work on the host: who uses it pays for \
that, too.

{settings["size"]}: {settings["batch_size"]} sentences x 2 views a step; median (least to \
greatest) of {settings["rounds"]} rounds of {settings["steps"]} steps

{markdown_table(lines, left=1)}
{not_run}"""
    if "overheads" not in result:
        return text
    costs = result["overheads"]
    lines = [["", "objective ms", "of the step", "recording ms", "of the step"]]
    lines += [
        [
            f"`{name}`",
            shown(of["loss_ms"], 2),
            f"{of['loss_share']['median']:.2%}",
            shown(of["recording_ms"], 2),
            f"{of['recording_share']['median']:.2%}",
        ]
        for name, of in costs["objectives"].items()
    ]
    return f"""\
{text}
{settings["size"]}: parts of a step of {OVERHEADS_BATCH} sentences, \
{costs["step_ms"]["median"]:.1f} ms; objectives forward and backward, not compiled; \
recording at every {costs["record_every"]}th step

{markdown_table(lines, left=1)}
"""


def main() -> None:
    """Command line."""
    parser = common.parser("train_step", __doc__)
    parser.add_argument("--size", choices=["embedded", "bert-base"], default="embedded")
    parser.add_argument("--rounds", type=int, default=3)
    shares = "time the objectives' and recording's shares, too"
    parser.add_argument("--overheads", action="store_true", help=shares)
    options = parser.parse_args()

    device = resolve("cuda" if torch.cuda.is_available() else "cpu")
    batch_size, steps, calls = (128, 20, 50) if device.type == "cuda" else (64, 4, 5)
    packages = ["torch", "transformers", "sentence-transformers", "datasets", "accelerate"]
    settings = {
        "size": options.size,
        "batch_size": batch_size,
        "steps": steps,
        "rounds": options.rounds,
        "precision": "fp32" if autocast_dtype("auto", device) is None else "bf16",
        "compiled": "compiled" if compiles("auto", device) else "not compiled",
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "backbone"
        save_backbone(options.size, folder)
        task = Task(folder, device, batch_size, options.rounds * steps)
        result = {
            "machine": common.machine(*packages) | {"device": describe(device)},
            "settings": settings,
            **contest(task, options.rounds),
        }
        common.write(options, result, markdown(result))  # in case the rest is cut off
        if options.overheads:
            torch.compiler.reset()  # the number of compiled programs is limited
            task = Task(folder, device, OVERHEADS_BATCH, options.rounds * max(1, steps // 4))
            result["overheads"] = overheads(task, options.rounds, calls)
            common.write(options, result, markdown(result))
    print(markdown(result), end="")


if __name__ == "__main__":
    main()
