"""The kinds of the operator network, a module for each version of each."""
