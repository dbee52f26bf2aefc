"""The local replica: objects of a kind, kept current by one watch, for any number of readers and handlers."""
