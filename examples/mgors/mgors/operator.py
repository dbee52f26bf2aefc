"""The operator itself; reconcilers register with it. And its numbers."""

from prometheus_client import Counter, Gauge
from steersman import Operator
from steersman.kinds.coordination_v1 import Lease
from steersman.kinds.core_v1 import PersistentVolumeClaim, Secret

operator = Operator("mgors")

# Secrets and disks are looked up by their names, never listed and never watched.
operator.permit(Secret, "get", "create", "patch")
operator.permit(PersistentVolumeClaim, "get", "delete")
operator.permit(Lease, "get", "create", "delete")

_SET = ("namespace", "name")
MEMBERS = Gauge("mgors_members", "Members by what they say of themselves.", [*_SET, "state"], registry=operator.metrics)
PRIMARY = Gauge("mgors_primary", "Whether there is a primary.", _SET, registry=operator.metrics)
LAG = Gauge("mgors_replication_lag_seconds", "How far the last secondary is behind.", _SET, registry=operator.metrics)
FAILOVERS = Counter("mgors_failovers", "How often another member became primary.", _SET, registry=operator.metrics)
LAST_BACKUP = Gauge(
    "mgors_last_backup_timestamp_seconds", "When the last backup succeeded.", _SET, registry=operator.metrics
)
