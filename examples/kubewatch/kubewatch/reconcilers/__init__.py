"""Reconcilers of the operator kubewatch, one module for each kind."""
