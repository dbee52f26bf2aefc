"""One container: its program, environment, log and probes."""
