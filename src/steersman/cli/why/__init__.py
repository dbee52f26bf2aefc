"""`steer why`: ask a running operator what it did and why.

``operators`` finds the operator and asks it; the command is in ``why``.
"""
