"""What the operator network does, a module for each kind."""
