"""How `steer run` derives from its options where webhooks are called."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from steersman import Admission, Operator
from steersman.cli import main
from steersman.cli.webhook_listener import WebhookServing
from steersman.kinds.core_v1 import ConfigMap
from steersman.webhook.serving.address import ServiceAddress, UrlAddress
from steersman.webhook.serving.tls_listener import TlsListener


def _operator() -> Operator:
    operator = Operator("maps")

    @operator.validate(ConfigMap)
    def check(_: ConfigMap, __: Admission[ConfigMap]) -> None:
        """Accept every object."""

    return operator


def test_an_operator_without_webhooks_needs_no_listener() -> None:
    """It needs no port, no certificate and no library for them."""
    assert WebhookServing(service="a/b").front([Operator("plain")], is_local=True) is None


@pytest.mark.parametrize(
    ("serving", "option"), [(WebhookServing(url="https://a:1"), "url"), (WebhookServing(service="a/b"), "service")]
)
def test_an_option_without_webhooks_is_reported(
    serving: WebhookServing, option: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The author expects calls that will never come: perhaps the wrong operator was named."""
    assert serving.front([Operator("plain")], is_local=False) is None
    assert [record.getMessage() for record in caplog.records] == [
        f"--webhook-{option} has no effect: the operator plain has no webhooks and no conversions"
    ]
    assert WebhookServing().front([Operator("plain")], is_local=False) is None
    assert len(caplog.records) == 1


def test_with_a_server_on_this_machine_webhooks_are_called_there() -> None:
    """`steer dev` and `steer run --embedded` need no option."""
    front = WebhookServing().front([_operator()], is_local=True)
    assert isinstance(front, TlsListener)
    assert front.installs
    assert (front.place.host, front.place.address) == ("127.0.0.1", None)


def test_with_a_cluster_an_option_must_say_how_webhooks_are_reached() -> None:
    """A URL of this machine would lead an API server to itself, and every write would be rejected."""
    assert WebhookServing().front([_operator()], is_local=False) is None


def test_a_url_leads_to_this_process_and_a_service_to_any_replica() -> None:
    """A configuration for a process ends with it; one for a Service is part of the deployment."""
    by_url = WebhookServing(url="https://laptop.example.com:9443", port=9443).front([_operator()], is_local=False)
    assert isinstance(by_url, TlsListener)
    assert (by_url.installs, by_url.place.address) == (True, UrlAddress("https://laptop.example.com:9443"))
    by_service = WebhookServing(service="maps-system/maps-webhooks").front([_operator()], is_local=True)
    assert isinstance(by_service, TlsListener)
    assert (by_service.installs, by_service.place.address) == (False, ServiceAddress("maps-system", "maps-webhooks"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"service": "a/b", "url": "https://c"},
        {"secret": "mine"},
        {"certs": Path("here")},
        {"service": "a/b", "secret": "mine", "certs": Path("here")},
    ],
)
def test_contradicting_options_are_rejected(wrong: dict[str, str]) -> None:
    """Guessing which one is meant would be wrong half of the time."""
    with pytest.raises(click.UsageError):
        WebhookServing(**wrong)  # type: ignore[arg-type] # the values are as the options give them


def test_a_service_is_named_with_its_namespace() -> None:
    """The certificate is for both names."""
    with pytest.raises(click.BadParameter, match="NAMESPACE/NAME"):
        WebhookServing(service="maps").front([_operator()], is_local=False)


def test_the_help_lists_the_options() -> None:
    """The help is where users look first."""
    text = CliRunner().invoke(main, ["run", "--help"]).output
    for option in ("--webhook-service", "--webhook-url", "--webhook-port", "--webhook-secret", "--webhook-certs"):
        assert option in text
