"""How Go reads and prints values: text as ``fmt`` and ``encoding/json`` write it, the JSON scanner, strict decoding.

The API server quotes values in its messages and tells empty from absent as Go does. Nothing here knows Kubernetes.
"""
