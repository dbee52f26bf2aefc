"""The kinds of the operator redisfailover, a module for each version of each."""
