"""8-bit weights for ONNX Runtime, and what they cost: Spearman's correlation on graded pairs.

Smaller and, without bfloat16 arithmetic, faster; but another encoder: its cosines to the float32
embeddings are near 0.99, not 0.9999. So it is never chosen by itself.
"""

import json
from pathlib import Path

import numpy as np
from onnxruntime.quantization import QuantType, quantize_dynamic
from scipy.stats import spearmanr

from pipeline.senteval.graded_pairs import read_dev
from serve.encoders.backends import BACKENDS
from serve.encoders.exported import Embed, Embeddings, Exported, cosines, pad

_BATCH = 32


def quantise(exported: Exported, data: Path) -> None:
    """Write graph.int8.onnx and int8.json into an export, unless they are there.

    Args:
        exported: the exported encoder.
        data: a table of graded pairs, whose dev pairs are scored with both graphs.
    """
    report = exported.folder / "int8.json"
    if report.is_file():
        return
    graph = exported.folder / "graph.int8.onnx"
    quantize_dynamic(exported.folder / "graph.onnx", graph, weight_type=QuantType.QInt8)
    pairs = read_dev(data)
    scores = {}
    for name in ("onnxruntime-f32", "onnxruntime-int8"):
        embed, _ = BACKENDS[name](exported, exported.folder, 1)
        cosine = cosines(*(_embed(exported, embed, side) for side in (pairs.first, pairs.second)))
        scores[name] = 100 * float(spearmanr(cosine, pairs.gold).statistic)
    content = {
        "data": str(data),
        "pairs": len(pairs),
        "spearman_f32": round(scores["onnxruntime-f32"], 4),
        "spearman_int8": round(scores["onnxruntime-int8"], 4),
        "loss": round(scores["onnxruntime-f32"] - scores["onnxruntime-int8"], 4),
    }
    report.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _embed(exported: Exported, embed: Embed, texts: tuple[str, ...]) -> Embeddings:
    tokenizer = exported.tokenizer()
    rows = [tokenizer.cut(row) for row in tokenizer.encode(texts)]
    order = sorted(range(len(rows)), key=lambda index: len(rows[index]))
    found = np.empty((len(rows), exported.description.dimension), np.float32)
    for start in range(0, len(order), _BATCH):
        chosen = order[start : start + _BATCH]
        padding_id = exported.description.padding_id
        found[chosen] = embed(*pad([rows[index] for index in chosen], padding_id))
    return found
