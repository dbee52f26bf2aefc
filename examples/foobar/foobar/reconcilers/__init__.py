"""Reconcilers of the operator foobar, one module for each kind."""
