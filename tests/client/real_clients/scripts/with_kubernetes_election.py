"""The official client's leader election: one of two candidates leads, and the other takes over when it stops."""

import logging
import threading

from kubernetes import client, config
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock


class Resigned(Exception):  # noqa: N818 - an event, not an error
    """Ends a candidate's renewals as a crash would."""


class CrashableLock(LeaseLock):
    """A lock whose candidate can crash."""

    dead = threading.Event()

    def get(self, name: str, namespace: str) -> object:
        """Read the lease, unless crashed."""
        if self.identity == "first" and self.dead.is_set():
            raise Resigned
        return super().get(name, namespace)


def candidate(identity: str, led: threading.Event) -> threading.Thread:
    """Take part in the election."""

    def started() -> None:
        print("leading", identity, flush=True)
        led.set()

    election = electionconfig.Config(
        CrashableLock("lease", "default", identity),
        lease_duration=3,
        renew_deadline=2,
        retry_period=1,
        onstarted_leading=started,
        onstopped_leading=None,
    )

    def run() -> None:
        try:
            leaderelection.LeaderElection(election).run()
        except Resigned:
            return

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def main() -> None:
    """Run two candidates: the first leads and crashes, the second must follow."""
    logging.disable(logging.CRITICAL)
    config.load_kube_config()
    first, second = threading.Event(), threading.Event()
    candidate("first", first)
    assert first.wait(10)
    candidate("second", second)
    assert not second.wait(1.5), "two leaders"
    CrashableLock.dead.set()
    assert second.wait(15)
    lease = client.CoordinationV1Api().read_namespaced_lease("lease", "default")
    print("holder", lease.spec.holder_identity, lease.spec.lease_transitions)


if __name__ == "__main__":
    main()
