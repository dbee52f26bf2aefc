"""The operator itself; reconcilers register with it."""

from prometheus_client import Counter
from steersman import Operator

operator = Operator("kubewatch")

#: What happened to what is watched.
EVENTS = Counter("kubewatch_events", "Changes that were told.", ["resource", "event"], registry=operator.metrics)
#: What became of telling it.
DELIVERIES = Counter("kubewatch_deliveries", "Attempts to tell.", ["type", "result"], registry=operator.metrics)
