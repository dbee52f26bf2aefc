"""The kinds of the operator foobar, a module for each version of each."""
