"""The operator itself; reconcilers register with it."""

from prometheus_client import Counter
from steersman import Operator

operator = Operator("kubewatch")

#: Changes of watched resources.
EVENTS = Counter("kubewatch_events", "Changes of watched resources.", ["resource", "event"], registry=operator.metrics)
#: Results of deliveries.
DELIVERIES = Counter("kubewatch_deliveries", "Delivery attempts.", ["type", "result"], registry=operator.metrics)
