"""Reconcilers of the operator custompod, one module for each kind."""
