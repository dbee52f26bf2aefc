"""A node on which pods only seem to run: as fast, as slow or as badly as their annotations say."""
