"""OpenTelemetry (the extra ``steersman[otel]``): spans are a view of the history's records.

``tracing`` makes them; it alone imports OpenTelemetry, and is imported only if spans are requested. ``environment``
sets it up by the variables that OpenTelemetry itself defines.
"""
