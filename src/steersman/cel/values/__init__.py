"""The values that expressions compute with, how they compare, and JSON seen through its schema (``shapes``)."""
