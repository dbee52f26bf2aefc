"""Where the configurations of admission are stored."""

GROUP = "admissionregistration.k8s.io"
MUTATING = f"mutatingwebhookconfigurations.{GROUP}"
VALIDATING = f"validatingwebhookconfigurations.{GROUP}"
POLICIES = f"validatingadmissionpolicies.{GROUP}"
BINDINGS = f"validatingadmissionpolicybindings.{GROUP}"
MUTATING_POLICIES = f"mutatingadmissionpolicies.{GROUP}"
MUTATING_BINDINGS = f"mutatingadmissionpolicybindings.{GROUP}"
