"""What built-in kinds fill in where an author says nothing, one module per family of kinds.

Each function changes one object in place; `defaults_of` finds it by kind.
"""
