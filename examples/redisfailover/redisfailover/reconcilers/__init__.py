"""Reconcilers of the operator redisfailover, one module for each kind."""
