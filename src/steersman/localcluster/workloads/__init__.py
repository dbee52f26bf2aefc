"""The controllers of Kubernetes' own workloads, each an operator as any other."""
