"""The operator project."""
