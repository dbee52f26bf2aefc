"""The directories of a node: pod volumes, mounts, and files that change atomically."""
