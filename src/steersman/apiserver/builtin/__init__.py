"""The built-in kinds: their types, defaults, rules, strategies and columns."""
