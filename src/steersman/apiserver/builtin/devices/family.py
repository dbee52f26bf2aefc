"""Registration of devices and the claims of pods to them (dynamic resource allocation)."""

from steersman.apiserver.builtin.devices.resource_claims import default_resource_claim, default_resource_claim_template
from steersman.apiserver.builtin.devices.resource_slices import ResourceSliceStrategy
from steersman.apiserver.builtin.kind import BuiltinKind

_GROUP = "resource.k8s.io"
KINDS = (
    BuiltinKind(
        _GROUP,
        "DeviceClass",
        counts_generations=True,
    ),
    BuiltinKind(
        _GROUP,
        "ResourceClaim",
        defaults=default_resource_claim,
    ),
    BuiltinKind(
        _GROUP,
        "ResourceClaimTemplate",
        defaults=default_resource_claim_template,
    ),
    BuiltinKind(
        _GROUP,
        "ResourceSlice",
        strategy=ResourceSliceStrategy,
        counts_generations=True,
    ),
)
