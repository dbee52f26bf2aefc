"""What clients do with resources: create, update, patch, apply, delete, get, list, watch, and the subresources."""
