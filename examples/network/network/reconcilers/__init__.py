"""Reconcilers of the operator network, one module for each kind."""
