"""Python types become a Kubernetes API, and the same schemas judge objects."""
