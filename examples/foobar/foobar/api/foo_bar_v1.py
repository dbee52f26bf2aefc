"""FooBar, as test.example.com/v1, for users: the CRD and the RBAC permissions are derived from these classes."""

from datetime import datetime
from typing import Annotated, Literal

from steersman import Model, Resource, custom_resource
from steersman.schema import Int64, MinLength

#: State of an object; empty before its first reconcile.
State = Literal["", "Applying", "ApplySucceed", "ApplyFailed", "Revoking", "RevokeSucceed", "RevokeFailed"]


class FooBarSpec(Model):
    """The wanted state: something is applied to a target."""

    target: Annotated[str, MinLength(1)]
    type: str | None = None


class FooBarStatus(Model):
    """The last operation and its time. It can be rebuilt at any time: no decision depends on it."""

    status: State = ""
    message: str = ""
    update_time: datetime | None = None
    observed_generation: Int64 | None = None


@custom_resource("test.example.com/v1", storage=True)
class FooBar(Resource[FooBarSpec, FooBarStatus]):
    """Something that is applied to a target, and revoked from it again."""
