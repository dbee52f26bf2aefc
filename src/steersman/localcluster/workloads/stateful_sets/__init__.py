"""The StatefulSet controller: ``reconciler`` carries out what the pure modules decide."""
