"""What a request says and how a response is written: path, options, body, media types, objects as JSON, YAML or tables.

A verb reads its request and writes its response through this room, and never touches bytes or headers itself.
"""
