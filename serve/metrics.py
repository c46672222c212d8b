"""What the service counts, as Prometheus metrics named `triad_...`.

One process serves, so its own registry is the whole truth. Not here: where they are counted.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_TOKENS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)


class Metrics:
    """All counters, histograms and gauges; each instance has a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        registry = self.registry
        self.requests = Counter(
            "triad_requests", "Requests answered", ["route", "status"], registry=registry
        )
        self.request_seconds = Histogram(
            "triad_request_seconds",
            "From a request's first byte to its answer's last",
            ["route"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.cancelled = Counter(
            "triad_cancelled", "Requests whose client left first", ["route"], registry=registry
        )
        self.refused = Counter(
            "triad_refused", "Requests refused by a limit of all", ["limit"], registry=registry
        )
        self.queue = Gauge(
            "triad_queue_texts", "Texts admitted and not yet answered", registry=registry
        )
        self.texts = Counter("triad_texts", "Texts computed, equal ones once", registry=registry)
        self.tokens = Counter(
            "triad_tokens", "Tokens computed, padding left out", registry=registry
        )
        self.batch_tokens = Histogram(
            "triad_batch_tokens",
            "Tokens of a batch, padding included",
            buckets=_TOKENS,
            registry=registry,
        )
        self.padding_share = Histogram(
            "triad_batch_padding_share",
            "Share of a batch that is padding",
            buckets=(0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0),
            registry=registry,
        )
        self.tokenize_seconds = _times("triad_tokenize_seconds", "Tokenizing a slice", registry)
        self.queue_seconds = _times(
            "triad_queue_seconds", "From a request's admission to its first batch", registry
        )
        self.compute_seconds = _times("triad_compute_seconds", "Computing a batch", registry)
        self.reloads = Counter(
            "triad_reloads", "Encoders loaded or refused", ["result"], registry=registry
        )
        self.encoders = Gauge(
            "triad_encoder_info",
            "Encoders served",
            ["model", "version", "backend"],
            registry=registry,
        )

    def batch(self, lengths: list[int], seconds: float) -> None:
        """Count a computed batch of texts with these numbers of tokens."""
        padded, tokens = len(lengths) * max(lengths), sum(lengths)
        self.texts.inc(len(lengths))
        self.tokens.inc(tokens)
        self.batch_tokens.observe(padded)
        self.padding_share.observe(1 - tokens / padded)
        self.compute_seconds.observe(seconds)

    def exposition(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)


def _times(name: str, what: str, registry: CollectorRegistry) -> Histogram:
    return Histogram(name, f"{what}, seconds", buckets=_SECONDS, registry=registry)
