"""The kinds of the operator custompod, one module for each version of each kind."""
