"""From text to a syntax tree: ``lexer``, ``parser``, ``macros``; ``tree`` has the nodes."""
