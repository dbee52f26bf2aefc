"""Typed Python source from OpenAPI schemas: built-in kinds and custom resources. Start with ``generator``."""
