"""Commands that work on a cluster which the user names."""
