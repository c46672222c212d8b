"""What computes embeddings: OpenVINO, ONNX Runtime or torch, behind one call.

A backend is used only if it gives the reference vectors of the encoder's export: `choose` tries
them in a fixed order, on a GPU first. Not here: how graphs and reference vectors are made
(export.py), threads and batches (batcher.py).
"""

import logging
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.encoder.vectors import Embeddings, Ids, cosines, pad
from pipeline.machine.errors import first_line
from serve.encoders.exported import Embed, Exported, ExportError
from serve.installed import has_cuda, is_installed

log = logging.getLogger("serve.encoders.backends")

# A backend must give each reference vector this nearly (docs/operating.md says so).
AGREEMENT = 0.9999


@dataclass(frozen=True)
class Backend:
    """A way to compute embeddings that has passed the self test.

    Attributes:
        name: such as `openvino-bf16`; on a GPU it ends in `-cuda`.
        embed: see `Embed`; each call computes on the thread that calls, or on another one.
        embed_alone: the same, on all threads: sooner done, at more work, so for a batch beside
            which nothing is computed.
        agreement: least cosine to the reference vectors, of both.
    """

    name: str
    embed: Embed
    embed_alone: Embed
    agreement: float


def choose(
    exported: Exported, encoder: Path, choice: str, threads: int, device: str = "cpu"
) -> Backend:
    """The first of `BACKENDS` that is wanted, can be used and agrees.

    Args:
        exported: the exported encoder.
        encoder: its sentence-transformers folder, which torch reads.
        choice: a backend's name or `auto`.
        threads: how many threads will call `embed` at once, and `embed_alone` may use.
        device: `cpu`, `cuda`, or `auto`: both, where there is a GPU.

    Raises:
        ExportError: none can be used; the message gives each one's reason.
    """
    reasons = []
    for name, opened in _candidates(choice, device):
        try:
            embed, embed_alone = opened(exported, encoder, threads)
            agreement = min(self_test(exported, function) for function in {embed, embed_alone})
        except Exception as error:  # noqa: BLE001 - runtimes raise whatever they like
            reasons.append(f"{name}: {first_line(error)}")
            continue
        if agreement >= AGREEMENT:
            if reasons:
                log.info("%s: not %s", exported.folder.name, "; ".join(reasons))
            return Backend(name, embed, embed_alone, agreement)
        reasons.append(f"{name}: cosine {agreement:.6f} to torch in float32")
    if not reasons:
        raise ExportError(
            f"serve.backend: {choice} computes on NVIDIA GPUs only, and serve.device {device} "
            "leaves none here; set serve.backend to auto or torch-f32."
        )
    raise ExportError(
        f"no backend gives this encoder's embeddings ({'; '.join(reasons)}); if its export is "
        f"damaged, delete {exported.folder}."
    )


def self_test(exported: Exported, embed: Embed) -> float:
    """Least cosine of the reference vectors, in one padded batch, to what they should be."""
    reference = exported.reference_vectors
    embeddings = embed(*pad(reference.ids, exported.description.padding_id))
    if embeddings.shape != reference.embeddings.shape or not np.isfinite(embeddings).all():
        raise ExportError(f"gives {embeddings.shape} numbers, not all finite, as reference vectors")
    return float(cosines(embeddings, reference.embeddings).min())


# An encoder's export, its folder and the number of threads -> `embed` and `embed_alone`.
Opener = Callable[[Exported, Path, int], tuple[Embed, Embed]]


def _openvino(precision: str) -> Opener:
    def opened(exported: Exported, _: Path, threads: int) -> tuple[Embed, Embed]:
        # Importing OpenVINO tells Google Analytics so, unless this package is missing.
        sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
        # Kernels are compiled for each shape of batch, nine or so, and kept by oneDNN for all
        # encoders together: the last 56 shapes.
        os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "512")
        import openvino  # noqa: PLC0415 - optional

        core = openvino.Core()
        capabilities = core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        if precision == "bf16" and "BF16" not in capabilities:
            raise ExportError("this CPU has no bfloat16 arithmetic")

        def compiled(streams: int) -> Embed:
            model = core.compile_model(
                str(exported.folder / "graph.onnx"),
                "CPU",
                {
                    "INFERENCE_PRECISION_HINT": precision,
                    # A stream computes one batch: nothing waits for a slow core.
                    "NUM_STREAMS": str(streams),
                    "INFERENCE_NUM_THREADS": threads,
                    # Each stream keeps kernels once more, a megabyte a piece: enough for the layers
                    # of a batch to share them.
                    "CPU_RUNTIME_CACHE_CAPACITY": "16",
                },
            )
            return _OpenVino(model, streams)

        each = compiled(threads)
        return each, each if threads == 1 else compiled(1)

    return opened


class _OpenVino:
    """As many requests as streams, each used by one thread at a time."""

    def __init__(self, model: Any, streams: int) -> None:
        self._model = model
        self._requests = [model.create_infer_request() for _ in range(streams)]

    def __call__(self, ids: Ids, mask: Ids) -> Embeddings:
        try:
            request = self._requests.pop()
        except IndexError:  # more callers than streams: one more request, which waits for its turn
            request = self._model.create_infer_request()
        try:
            result = request.infer({"input_ids": ids, "attention_mask": mask})
            return np.array(result[0], np.float32)
        finally:
            self._requests.append(request)


def _onnxruntime(exported: Exported, _: Path, threads: int) -> tuple[Embed, Embed]:
    import onnxruntime  # noqa: PLC0415 - optional

    def session(threads: int) -> Embed:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Its threads wait for work by spinning, which is fast, but only within a call.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        opened = onnxruntime.InferenceSession(
            str(exported.folder / "graph.onnx"), options, providers=["CPUExecutionProvider"]
        )

        def embed(ids: Ids, mask: Ids) -> Embeddings:
            (embeddings,) = opened.run(None, {"input_ids": ids, "attention_mask": mask})
            return np.asarray(embeddings, np.float32)

        return embed

    each = session(1)
    return each, each if threads == 1 else session(threads)


def _torch(precision: str, device: str) -> Opener:
    def opened(_: Exported, encoder: Path, __: int) -> tuple[Embed, Embed]:
        if not is_installed("torch"):
            raise ExportError("torch is not installed")
        from serve.encoders.torch_backend import open_torch  # noqa: PLC0415 - seconds, 300 MB

        # How many threads compute is a setting of the process in torch, not of a call.
        embed = open_torch(encoder, precision, device)
        return embed, embed

    return opened


# By device, in the order in which `auto` tries them. On a GPU, float16 comes before bfloat16, as it
# has more digits. On a CPU, the two runtimes are equally fast on batches in float32; on single
# texts of changing lengths, ONNX Runtime is a quarter faster and its memory stays where it is.
BACKENDS: dict[str, dict[str, Opener]] = {
    "cuda": {
        "torch-f16": _torch("f16", "cuda"),
        "torch-bf16": _torch("bf16", "cuda"),
        "torch-f32": _torch("f32", "cuda"),
    },
    "cpu": {
        "openvino-bf16": _openvino("bf16"),
        "onnxruntime-f32": _onnxruntime,
        "openvino-f32": _openvino("f32"),
        "torch-f32": _torch("f32", "cpu"),
    },
}


def _candidates(choice: str, device: str) -> Iterator[tuple[str, Opener]]:
    """Names and openers of what is wanted; nobody looks for a GPU that would not be used."""
    for place, openers in BACKENDS.items():
        fitting = {name: opener for name, opener in openers.items() if choice in ("auto", name)}
        if not fitting or device not in ("auto", place) or (place == "cuda" and not has_cuda()):
            continue
        for name, opener in fitting.items():
            yield (name if place == "cpu" else f"{name}-{place}"), opener
