import inspect

from steersman.controller.context import Context

#: What authors use; docs/first-operator.md and its neighbours show most of it.
PUBLIC = {
    *("why", "log", "client", "now"),
    *("get", "list", "owned", "orphans"),
    *("apply", "create", "update", "patch", "delete", "prune"),
    *("condition", "event", "requeue_after", "waker", "memory"),
    *("follow", "http", "wait"),
}


def test_authors_see_nothing_of_what_the_controller_keeps() -> None:
    """What completion offers is what people use: each name here is a promise, so a new one is added on purpose."""
    assert {name for name in dir(Context) if not name.startswith("_")} == PUBLIC


def test_every_public_part_of_the_context_says_what_it_is_for() -> None:
    """Editors show the docstring beside the name."""
    for name in PUBLIC:
        member = inspect.getattr_static(Context, name)
        documented = member.fget if isinstance(member, property) else member
        assert inspect.getdoc(documented), name
