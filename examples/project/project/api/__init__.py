"""The kinds of the operator project, a module for each version of each."""
