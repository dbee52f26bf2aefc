"""Go operators of other projects under simulated faults; see ``__main__``."""
