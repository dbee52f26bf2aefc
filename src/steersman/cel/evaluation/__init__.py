"""From a typed tree to a value: ``interpreter`` exactly, ``fastpath`` as generated Python for the common rules."""
