"""Values that rules of the controller compare: why a key runs (``causes``), what it wrote (``writes``), how it ended.

``outcome`` decides from an exception what comes next; ``failures`` passes exceptions on. What people see of a run is in
its record (``steersman.history``).
"""
