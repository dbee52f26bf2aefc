"""The kinds of the operator samplecontroller, a module for each version of each."""
