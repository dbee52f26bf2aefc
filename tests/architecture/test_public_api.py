"""A change of a public name or signature is seen and written down."""

from tools.public_api import SNAPSHOT, lines


def test_the_public_api_is_as_recorded() -> None:
    """An operator's author must find every change in the CHANGELOG, under "Upgrading" if it breaks something.

    If the change is intended, describe it there, and renew the list with ``python -m tools.public_api``.
    """
    recorded, found = {*SNAPSHOT.read_text(encoding="utf-8").splitlines()}, {*lines()}
    assert (recorded - found, found - recorded) == (set(), set())
