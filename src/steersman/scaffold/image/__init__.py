"""An operator as an OCI image, built and pushed without a daemon: a base, its dependencies, its code."""
