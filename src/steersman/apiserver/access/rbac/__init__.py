"""Role-based access control: who may do what, as roles and bindings say.

``rules`` is what one rule means, ``bindings`` finds the rules of a user, ``authorizer`` decides, ``escalation`` keeps
users from granting what they do not have, ``aggregation`` fills roles from others, ``bootstrap`` makes the first ones.
"""
