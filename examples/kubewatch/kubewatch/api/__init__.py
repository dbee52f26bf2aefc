"""The kinds of the operator kubewatch, one module for each version of each kind."""
