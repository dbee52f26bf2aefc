"""Bytes on the wire, the server's end: an app answers requests, this package moves them over sockets."""
