"""The kinds of the operator custompod, a module for each version of each."""
