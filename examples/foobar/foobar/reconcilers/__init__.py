"""What the operator foobar does, a module for each kind."""
