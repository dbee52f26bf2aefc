"""The operator kubewatch."""
