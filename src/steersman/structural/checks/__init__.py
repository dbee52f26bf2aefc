"""Checks of JSON values against a schema node, compiled once per schema into functions.

`object_checks` builds the table of checks of a node; `type_checks`, `value_checks` and `list_types` are its parts.
`embedded` checks embedded resources, and `walks` visits only the nodes that need a check. A check returns
`RelativeError`s (`relative_errors`): each level above adds its step to the path, so a valid value costs no path.
"""
