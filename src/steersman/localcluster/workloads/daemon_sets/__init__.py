"""The DaemonSet controller: ``reconciler`` carries out what ``plan`` decides."""
