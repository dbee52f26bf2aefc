"""A Kubernetes operator framework for Python."""
