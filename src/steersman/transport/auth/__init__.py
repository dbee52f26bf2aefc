"""Who this client is: kubeconfig files, tokens, certificates, and programs that provide credentials."""
