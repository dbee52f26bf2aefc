"""What a cluster has beside its API server, on a laptop: workload controllers, a scheduler, nodes that run pods."""
