"""What to do next: keys, deduplicated, prioritised, delayed and rate-limited, each with the causes of its work."""
