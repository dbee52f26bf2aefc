"""What an operator needs in a cluster, derived from its declarations: definitions, permissions, a deployment."""
