"""The work queue of a controller: keys with causes, deduplicated, prioritised, delayed and rate-limited.

``queue`` waits; the rules are pure: ``pending`` (which key is next), ``retries`` and ``backoff`` (when a failed key is
retried).
"""
