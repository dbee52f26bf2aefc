"""The operator foobar."""
