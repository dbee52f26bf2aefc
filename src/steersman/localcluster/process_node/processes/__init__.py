"""Processes of the node: started in separate sessions, connected by pipes or terminals, ended with the node."""
