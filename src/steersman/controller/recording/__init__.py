"""What is recorded of a run, without the contents of Secrets: its trace for the history, its notes for a replay.

Start with ``run_trace`` (reads, writes and events, noted while they happen) and ``run_notes`` (whole objects and
requests, only where recordings are kept). ``secret_learning`` and ``failure_text`` keep Secrets out of both.
"""
