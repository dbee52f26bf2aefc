"""Reconcilers of the operator project, one module for each kind."""
