"""Kubernetes REST without I/O: requests and answers as values, watch frames, patches, the list/watch state machine."""
