"""The kinds of the operator network, one module for each version of each kind."""
