"""Reconcilers of the operator samplecontroller, one module for each kind."""
