"""Custom resources: what a CustomResourceDefinition makes the server serve, and conversion between versions."""
