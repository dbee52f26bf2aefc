"""Typed verbs over a transport: read, write, watch and wait for objects; discovery; events."""
