"""`assert_round_trips`: conversion between any two versions of a kind and back loses nothing."""

from collections.abc import Iterable
from typing import Any

from steersman.objects.codec import to_json
from steersman.objects.resource import KubeObject, Resource
from steersman.schema.round_trips import losses
from steersman.schema.versions import Versions


def assert_round_trips(
    *kinds: type[Resource[Any, Any]], count: int = 100, seed: int = 0, examples: Iterable[KubeObject] = ()
) -> None:
    """Fail with the field that gets lost between two versions of a kind.

    Objects are generated from the schemas, the same ones for the same seed; ``examples`` are tried first. An operator
    does the same with fewer objects when it starts.
    """
    found = losses(Versions(kinds), count=count, seed=seed, examples=[to_json(example) for example in examples])
    told = "\n".join(map(str, found))
    if told:
        raise AssertionError(told)
