"""The operator itself; reconcilers register with it."""

from steersman import Operator

operator = Operator("samplecontroller")
