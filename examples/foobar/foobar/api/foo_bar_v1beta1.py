"""FooBar, as test.example.com/v1beta1, in which the target is a reference. Both versions serve the same objects."""

from typing import Annotated

from steersman import Model, Resource, custom_resource
from steersman.schema import MinLength, renames

from foobar.api.foo_bar_v1 import FooBar, FooBarStatus


class TargetRef(Model):
    """The target of a FooBar."""

    name: Annotated[str, MinLength(1)]


class FooBarSpec(Model):
    """The wanted state: something is applied to a target."""

    target_ref: TargetRef
    type: str | None = None


@custom_resource("test.example.com/v1beta1", kind="FooBar", storage=False)
class FooBarV1beta1(Resource[FooBarSpec, FooBarStatus]):
    """Something that is applied to a target, and revoked from it again."""


renames(FooBarV1beta1, FooBar, {".spec.targetRef.name": ".spec.target"})
