"""The HTTP/1.1 client: ``transport`` sends requests over pooled connections and retries where that is safe."""
