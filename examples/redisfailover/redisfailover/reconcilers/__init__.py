"""What the operator redisfailover does, a module for each kind."""
