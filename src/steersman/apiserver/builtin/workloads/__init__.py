"""Built-in kinds of one family."""
