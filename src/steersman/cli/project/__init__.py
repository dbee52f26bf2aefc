"""Commands that work on the project in the current folder."""
