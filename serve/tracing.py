"""Traces of requests by OpenTelemetry, where its standard environment variables ask for them.

OTEL_EXPORTER_OTLP_ENDPOINT (or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) says where spans go; without
one nothing is loaded. A request's `traceparent` is the parent of its span. Sampling, headers,
resource and the rest follow OpenTelemetry's own variables.
"""

import os
from typing import TYPE_CHECKING

from pipeline.machine.errors import ConfigError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
UNTRACED = "livez,readyz,metrics"  # asked for every few seconds


def traced(api: "ASGIApp") -> "ASGIApp":
    """The API with a span for each request, or as it is where no endpoint is named.

    Raises:
        ConfigError: an endpoint is named, but the exporter is not installed.
    """
    endpoint = next((name for name in ENDPOINTS if os.environ.get(name)), None)
    if endpoint is None or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return api
    try:  # a hundred modules, which a service without traces does without
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter,
        )
    except ImportError as error:
        raise ConfigError(
            f"{endpoint}: traces need OpenTelemetry's exporter ({error}); install it with: "
            "pip install 'triad-encoders[tracing]'."
        ) from error
    from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware  # noqa: PLC0415
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    from opentelemetry.util.http import parse_excluded_urls  # noqa: PLC0415

    named = {SERVICE_NAME: os.environ.get("OTEL_SERVICE_NAME", "triad")}
    provider = TracerProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return OpenTelemetryMiddleware(
        api,
        excluded_urls=parse_excluded_urls(UNTRACED),
        tracer_provider=provider,
        exclude_spans=["receive", "send"],
    )
