"""What the operator custompod does, a module for each kind."""
