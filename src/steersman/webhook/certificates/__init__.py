"""Serving certificates: where they come from (``sources``), when they are renewed (``rotation``), their ``bundle``."""
