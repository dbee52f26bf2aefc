"""The built-in kinds of Kubernetes: what the server does differently for each.

Start with the ``family.py`` of a family, which lists its kinds and names the class or function that has each aspect:

- defaults and strategy are in the module of the kind (``networking/services.py``),
- validation and warnings are in ``<kind>_validation.py`` (``networking/service_validation.py``),
- columns of ``kubectl get`` are in ``columns.py``.

`registry` collects the families, `kind` explains what can be registered, `strategy` has the behaviour that all kinds
share, and ``common/`` has rules for parts that several families contain. `types`, `go_structs`, `strategic_merge` and
`discovery` are made from Kubernetes' own definitions and know no single kind.
"""
