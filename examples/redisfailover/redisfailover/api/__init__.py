"""The kinds of the operator redisfailover, one module for each version of each kind."""
