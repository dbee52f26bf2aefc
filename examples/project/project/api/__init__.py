"""The kinds of the operator project, one module for each version of each kind."""
