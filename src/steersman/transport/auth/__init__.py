"""Authentication of this client: kubeconfig files, tokens, certificates, and programs that provide credentials."""
