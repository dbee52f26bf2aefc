"""Processes of the node: started in sessions of their own, connected by pipes or terminals, ended with the node."""
