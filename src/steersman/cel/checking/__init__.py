"""From a syntax tree to a typed one: ``checker`` infers types, ``validators`` rejects literals that cannot work."""
