"""What the service is made of, apart from HTTP: encoders, batcher, metrics, and its state."""

from pipeline.machine.cores import usable_cores
from serve.batching.batcher import Batcher
from serve.encoders.registry import Registry
from serve.errors import ApiError
from serve.metrics import Metrics
from serve.settings import ServeParams


class Engine:
    """Registry and batcher of one process.

    `draining`: the service is about to stop and says "not ready"; requests are still answered.
    """

    def __init__(self, params: ServeParams) -> None:
        self.params = params
        self.metrics = Metrics()
        threads = params.threads or usable_cores()
        self.batcher = Batcher(params.limits, threads, params.batch_tokens, self.metrics)
        self.registry = Registry(params, threads, self.metrics)
        self.metrics.queue.set_function(lambda: self.batcher.admission.texts)
        self.draining = False

    def start(self) -> None:
        """Load the encoders in the background."""
        self.registry.start()

    def stop(self) -> None:
        """End the threads."""
        self.registry.stop()
        self.batcher.stop()

    @property
    def ready(self) -> bool:
        """Whether requests should be sent here."""
        return self.registry.loaded and bool(self.registry.encoders) and not self.draining

    def check_loaded(self) -> None:
        """Refuse a request before any encoder can answer.

        Raises:
            ApiError: 503.
        """
        if self.registry.encoders:
            return
        if not self.registry.loaded:
            raise ApiError(503, "loading", "the encoders are being loaded; try again soon.")
        refused = self.registry.refused
        why = "; ".join(f"{name}: {reason}" for name, reason in refused.items())
        raise ApiError(
            503, "no_encoder", f"no encoder is served ({why or 'none was found'}); see the log."
        )
