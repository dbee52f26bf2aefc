"""What ``kubectl get`` shows of built-in kinds: their columns, by family."""
