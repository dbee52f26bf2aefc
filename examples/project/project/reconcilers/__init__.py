"""What the operator project does, a module for each kind."""
