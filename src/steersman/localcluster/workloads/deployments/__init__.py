"""The Deployment controller: ``reconciler`` carries out what the pure modules decide."""
