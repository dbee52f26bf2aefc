"""Kubernetes' own end-to-end conformance specs, run on the embedded API server: ``make conformance``."""
