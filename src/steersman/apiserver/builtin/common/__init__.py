"""Parts that kinds of several families contain, and the rules for them.

Names and addresses, numbers, quantities, label and node selectors, conditions, file paths; cells of tables; strategies
with one differing trait each. Validation functions return a list of field errors, which is empty for a valid value.
"""
