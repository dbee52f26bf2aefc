"""Structural schemas: prune, default, validate and ratchet the objects of custom resources.

Start with ``compiled``: a `CompiledSchema` is made from a tree of nodes (``schema``) and applies the checks of the
other modules. ``cel_rules`` evaluates the CEL rules of a schema, ``crd`` decides whether a server would accept a CRD.
"""
