"""What kubectl asks of a node: logs, exec, port-forward."""
