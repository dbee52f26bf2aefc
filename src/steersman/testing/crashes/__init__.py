"""Crash tests: an operator must reach the same end state, whichever of its writes was its last.

Start with `scenarios`: it runs a scenario once undisturbed and once for each write, with a crash at that write.
`crash_switch` is the app between operator and server that cuts the connection at the chosen write. `end_state` and
`change_counts` describe how a run ended, with the values replaced that differ between runs (`assigned_values`).
`fresh_import` imports the operator's packages again, so that a new instance remembers nothing.

`process_crashes` does the same with real processes and SIGKILL; `fork_server` starts those quickly.
"""
