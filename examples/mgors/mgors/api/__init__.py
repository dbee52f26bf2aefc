"""The kinds of the operator mgors, a module for each version of each."""
