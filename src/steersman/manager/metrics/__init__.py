"""Metrics: ``counters`` counts while the operator works, ``metrics`` shows the counts when Prometheus scrapes."""
