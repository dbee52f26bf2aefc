"""The operator samplecontroller."""
