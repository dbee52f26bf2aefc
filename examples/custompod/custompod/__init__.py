"""The operator custompod."""
