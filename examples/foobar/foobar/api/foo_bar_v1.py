"""FooBar, as test.example.com/v1: what users write and read. Its definition and its permissions come from here."""

from datetime import datetime
from typing import Annotated, Literal

from steersman import Model, Resource, custom_resource
from steersman.schema import Int64, MinLength

#: Where an object stands; empty before anybody looked at it.
State = Literal["", "Applying", "ApplySucceed", "ApplyFailed", "Revoking", "RevokeSucceed", "RevokeFailed"]


class FooBarSpec(Model):
    """What a user asks for: that something is applied to a target."""

    target: Annotated[str, MinLength(1)]
    type: str | None = None


class FooBarStatus(Model):
    """What the operator did last, and when. It can be rebuilt at any time: nothing is decided by it."""

    status: State = ""
    message: str = ""
    update_time: datetime | None = None
    observed_generation: Int64 | None = None


@custom_resource("test.example.com/v1", storage=True)
class FooBar(Resource[FooBarSpec, FooBarStatus]):
    """Something that is applied to a target, and revoked from it again."""
