"""What is served: the catalog of resources, the strategy of each kind, custom resources, and the object store."""
