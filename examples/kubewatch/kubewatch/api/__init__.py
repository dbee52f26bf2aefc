"""The kinds of the operator kubewatch, a module for each version of each."""
