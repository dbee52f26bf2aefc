"""The protocols of exec, attach and port-forward: bytes in, messages out.

`websocket` and `spdy` are the two transports that clients use; `remote_command` numbers the channels of a session and
reads how a command ended.
"""
