"""The kinds of the operator mgors, one module for each version of each kind."""
