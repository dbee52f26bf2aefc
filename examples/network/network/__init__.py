"""The operator network."""
