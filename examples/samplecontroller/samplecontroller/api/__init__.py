"""The kinds of the operator samplecontroller, one module for each version of each kind."""
