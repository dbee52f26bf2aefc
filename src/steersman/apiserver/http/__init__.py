"""The HTTP surface: dispatch to verbs, discovery, OpenAPI, health and version pages, audit and request logs."""
