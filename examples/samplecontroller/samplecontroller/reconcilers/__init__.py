"""What the operator samplecontroller does, a module for each kind."""
