"""The operator as a process: signals, forced exit, the event-loop watchdog, and the format of its log."""
