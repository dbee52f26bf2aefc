"""The nouns, pure data: who an object is, what it holds, how it is written down and selected."""
