"""What the operator mgors does, a module for each kind."""
