"""Reconcilers of the operator mgors, one module for each kind."""
