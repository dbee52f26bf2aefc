"""The embedded API server: storage, patches, ownership of fields, and what serves them over HTTP."""
