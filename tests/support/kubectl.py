"""The kubectl that tests run: the one that is installed beside Python."""

import sys
from pathlib import Path

KUBECTL = str(Path(sys.executable).with_name("kubectl"))
