"""What happened, as typed values: why a key runs (``causes``), what it wrote (``writes``), how it ended (``outcome``).

``observer`` is notified of them.
"""
