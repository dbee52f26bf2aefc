"""The web view: what an operator does and why, in a browser, served by the operator itself.

Start with ``app``: it answers requests and knows `steersman.history.state.Introspection` only. ``access`` decides who
may ask, ``documents`` makes the JSON of each page, ``stream`` sends what changed, ``actions`` is what a person may do
in development, ``plans`` what the operator would do. ``static/`` is the page itself: plain ES modules, no build step,
two vendored libraries.

Nothing here changes an operator unless `Actions` are passed in.
"""
