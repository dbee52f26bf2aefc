"""What is applied so that the API server trusts a CA, given its current state."""

import base64
from typing import Any

from steersman.webhook.registration.trust import configuration_change, definition_change

NEW = base64.b64encode(b"new").decode()


def _configuration(**bundles: str) -> dict[str, Any]:
    entries = [
        {"name": name, "clientConfig": {"url": "https://x", **({"caBundle": bundle} if bundle else {})}, "rules": []}
        for name, bundle in bundles.items()
    ]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "quota", "resourceVersion": "7"},
        "webhooks": entries,
    }


def test_only_the_bundle_is_applied() -> None:
    """All other fields belong to the deployment."""
    assert configuration_change(_configuration(a="", b="old"), ["a", "b"], b"new") == {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "quota"},
        "webhooks": [
            {"name": "a", "clientConfig": {"caBundle": NEW}},
            {"name": "b", "clientConfig": {"caBundle": NEW}},
        ],
    }


def test_nothing_is_written_if_nothing_changes() -> None:
    """Replicas check twice a minute."""
    assert configuration_change(_configuration(a=NEW), ["a"], b"new") is None
    assert configuration_change({**_configuration(), "webhooks": None}, ["a"], b"new") is None


def test_a_program_and_a_configuration_of_different_releases_work_together() -> None:
    """A webhook that the other does not know must not keep the rest from being trusted during a rollout."""
    change = configuration_change(_configuration(a="old", gone="old"), ["a", "added"], b"new")
    assert change is not None
    assert [entry["name"] for entry in change["webhooks"]] == ["a"]


def test_a_crd_is_changed_only_if_it_declares_conversion() -> None:
    """A bundle without a strategy would be rejected."""
    definition: dict[str, Any] = {"apiVersion": "v1", "kind": "CRD", "metadata": {"name": "x"}, "spec": {}}
    assert definition_change(definition, b"new") is None
    definition["spec"]["conversion"] = {"strategy": "None"}
    assert definition_change(definition, b"new") is None
    definition["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://x"}}}
    change = definition_change(definition, b"new")
    assert change is not None
    assert change["spec"] == {"conversion": {"webhook": {"clientConfig": {"caBundle": NEW}}}}
    definition["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = NEW
    assert definition_change(definition, b"new") is None
