"""What `steer dev` shows: the state of the operator as a live screen, or as lines for pipes and CI.

`view` is the interface; `live_view` redraws the `screen` of a terminal, `plain_view` prints one line per report.
`dashboard_state` is what reports add up to, `object_counts` counts objects and ready ones, `texts` formats values.
"""
