"""The prices of operations, shared by the estimate before and the metering during evaluation."""

#: Looking at one character or byte.
TRAVERSAL = 0.1
#: One character of a regular expression.
REGEX = 0.25
#: Reading a variable or a field.
SELECT = 1
#: Making a list, a map, an object.
LIST_CREATE = 10
MAP_CREATE = 30
STRUCT_CREATE = 40
#: The longest regular expression that a named format may have, for the estimate.
NAMED_FORMAT_REGEX = 128
#: The longest name of a format.
NAMED_FORMAT_NAME = 64

#: What one evaluation of a rule may cost, and all rules together on one object.
PER_CALL_LIMIT = 1_000_000
PER_OBJECT_LIMIT = 10_000_000
#: What a rule may cost by estimate, and all rules of a CustomResourceDefinition together.
ESTIMATED_RULE_LIMIT = 10_000_000
ESTIMATED_TOTAL_LIMIT = 100_000_000
