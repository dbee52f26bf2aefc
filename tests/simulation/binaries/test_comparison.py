"""What of an object is compared between two runs in real time."""

from steersman.simulation.binaries.comparison import compared


def test_the_order_of_named_items_is_not_compared() -> None:
    """Go iterates over maps in a random order: the ports of a Service differ from run to run, and mean the same."""
    amqp, web = {"name": "amqp", "port": 5672}, {"name": "web", "port": 80}
    one = compared({"kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [web, amqp]}})
    other = compared({"kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [amqp, web]}})
    assert one == other


def test_an_order_with_a_meaning_is_compared() -> None:
    """Arguments and init containers do what they do in their order."""
    for name, items in {"args": ["a", "b"], "initContainers": [{"name": "a"}, {"name": "b"}]}.items():
        one = compared({"kind": "Pod", "metadata": {}, "spec": {name: items}})
        other = compared({"kind": "Pod", "metadata": {}, "spec": {name: items[::-1]}})
        assert one != other


def test_what_depends_on_the_number_of_updates_is_not_compared() -> None:
    """A program that is killed may need one update more to get to the same end."""
    document = {"kind": "Boat", "metadata": {"name": "a", "generation": 3}, "status": {"observedGeneration": 3, "x": 1}}
    assert compared(document) == {"kind": "Boat", "metadata": {"name": "a"}, "status": {"x": 1}}
    assert compared({"kind": "ControllerRevision", "metadata": {"name": "a"}}) is None
    assert compared(None) is None
