"""CSIDrivers: defaults."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.json_types import JsonObject


def default_csi_driver(obj: JsonObject) -> None:
    """Set the defaults of a CSIDriver."""
    set_default(
        obj["spec"],
        attachRequired=True,
        podInfoOnMount=False,
        storageCapacity=False,
        fsGroupPolicy="ReadWriteOnceWithFSType",
        volumeLifecycleModes=["Persistent"],
        requiresRepublish=False,
        seLinuxMount=False,
    )
