"""The kinds of the operator foobar, one module for each version of each kind."""
