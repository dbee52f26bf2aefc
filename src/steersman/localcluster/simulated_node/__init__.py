"""A node that simulates pods: as fast, as slow or as badly as their annotations say."""
