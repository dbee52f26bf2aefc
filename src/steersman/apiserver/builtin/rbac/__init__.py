"""Roles and role bindings as objects. ``family.py`` lists the kinds; ``apiserver/access/rbac`` evaluates them."""
