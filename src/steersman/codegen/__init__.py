"""Generates typed Python source from OpenAPI schemas.

Start with `generator`. `builtin` reads the OpenAPI documents of a server into the modules of ``steersman.kinds``,
`custom` the schemas of CRDs into classes. Both use `annotations` (schema → Python type) and `naming`, and produce the
`outline` of a module, which `source` prints.
"""
