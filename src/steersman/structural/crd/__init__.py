"""Validates a CustomResourceDefinition as an API server does. Start with `validation`.

`types` reads a CRD as the server's typed structure, `parts` checks names, versions and columns, `conversion` and
`scale` those sections. A schema passes `schema_rules` (allowed keywords), `structural_rules` (structural at all),
`default_rules` and `cel_rules`.
"""
