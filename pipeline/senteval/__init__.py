"""SentEval's protocol for sentence embeddings, implemented here from its description.

`evaluate` measures any model on the seven tasks of semantic textual similarity and the seven
transfer tasks. Nothing in this package knows how an encoder works: it is handed a function from
sentences to vectors.
"""

from pipeline.senteval.benchmark import evaluate

__all__ = ["evaluate"]
