"""The operator with all its reconcilers. Backups are written to the folder in REDISFAILOVER_BACKUPS."""

import os
from pathlib import Path

from redisfailover.operator import redis_operator
from redisfailover.redis_servers import RedisServers

_folder = os.environ.get("REDISFAILOVER_BACKUPS")

operator = redis_operator(RedisServers(), backups=Path(_folder) if _folder else None)
