"""The data model of Kubernetes objects: identity, metadata, JSON encoding, selectors, quantities and times. Pure data.

Start with `resource` (`KubeObject`, the base of every kind, and `Resource` for custom ones) and `model` (how fields map
to JSON). `codec` encodes and decodes objects; `identity` names kinds, resources and keys; `registry` maps kinds to
classes. `selectors`, `quantity`, `times` and `cron` are the value types that Kubernetes writes as strings.
"""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

if TYPE_CHECKING:
    from steersman.objects.codec import (
        bytes_read,
        decode,
        decode_as,
        decode_json,
        encode,
        encode_json,
        from_json,
        to_json,
    )
    from steersman.objects.cron import CronSchedule, ScheduleError
    from steersman.objects.identity import ApiResource, GroupVersionKind, GroupVersionResource, ObjectKey
    from steersman.objects.int_or_string import IntOrString
    from steersman.objects.model import sparse
    from steersman.objects.resource import KubeObject
    from steersman.objects.selectors import LabelSelector
    from steersman.objects.times import Duration, MicroTime, format_time

__all__ = [
    "ApiResource",
    "CronSchedule",
    "Duration",
    "GroupVersionKind",
    "GroupVersionResource",
    "IntOrString",
    "KubeObject",
    "LabelSelector",
    "MicroTime",
    "ObjectKey",
    "ScheduleError",
    "bytes_read",
    "decode",
    "decode_as",
    "decode_json",
    "encode",
    "encode_json",
    "format_time",
    "from_json",
    "sparse",
    "to_json",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.objects.codec": (
            "bytes_read",
            "decode",
            "decode_as",
            "decode_json",
            "encode",
            "encode_json",
            "from_json",
            "to_json",
        ),
        "steersman.objects.cron": ("CronSchedule", "ScheduleError"),
        "steersman.objects.identity": ("ApiResource", "GroupVersionKind", "GroupVersionResource", "ObjectKey"),
        "steersman.objects.int_or_string": ("IntOrString",),
        "steersman.objects.model": ("sparse",),
        "steersman.objects.resource": ("KubeObject",),
        "steersman.objects.selectors": ("LabelSelector",),
        "steersman.objects.times": ("Duration", "MicroTime", "format_time"),
    },
)
