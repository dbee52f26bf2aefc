"""What runs by default needs nothing but the framework; real databases are for ``make test-databases``."""

import os

collect_ignore = [] if os.environ.get("STEERSMAN_DATABASES") else ["databases"]
