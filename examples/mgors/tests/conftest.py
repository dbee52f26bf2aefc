"""Collect tests with real databases only with STEERSMAN_DATABASES=1 (``make test-databases``)."""

import os

collect_ignore = [] if os.environ.get("STEERSMAN_DATABASES") else ["databases"]
