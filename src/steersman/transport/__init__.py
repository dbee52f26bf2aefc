"""Bytes on the wire, the client's end: from a request as a value to an answer as a value."""
