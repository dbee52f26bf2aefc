"""The vocabulary of Kubernetes validation: field errors, names, string formats, object metadata, typed reading.

Start with ``field_errors``. CRD schemas, CEL and the embedded API server all report errors in these terms.
"""
