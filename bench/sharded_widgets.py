"""The operator of ``shards_real``, which `steer run` starts in several processes.

Every reconcile computes for a while, as one that renders a large object does, and writes one status patch: each run of
the benchmark has another phase, so that no patch is empty.
"""

import os
import time

from bench.widgets import WORKERS, Widget
from steersman import Context, Operator

#: Seconds of CPU that a reconcile takes.
_WORK = float(os.environ.get("BENCH_WORK", "0"))
_PHASE = os.environ.get("BENCH_PHASE", "Ready")

operator = Operator("bench", shards=16)


@operator.reconciler(Widget, workers=WORKERS)
async def reconcile(widget: Widget, _: Context[Widget]) -> None:
    """Compute, and report the state."""
    end = time.process_time() + _WORK
    while time.process_time() < end:
        pass
    widget.status.ready = widget.spec.replicas
    widget.status.phase = _PHASE
