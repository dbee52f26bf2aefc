"""What the operator kubewatch does, a module for each kind."""
