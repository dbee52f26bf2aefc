"""How the webhooks of an operator that `steer run` runs are reached, from the command's options."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from steersman.cli.parameters import PORT

if TYPE_CHECKING:
    from steersman.manager.operator import Operator
    from steersman.webhook.serving.address import ServiceAddress
    from steersman.webhook.serving.listener import WebhookListener

F = TypeVar("F", bound=Callable[..., Any])

_log = logging.getLogger(__name__)

_OPTIONS = (
    click.option("--webhook-service", metavar="NS/NAME", help="Service in front of the webhooks."),
    click.option("--webhook-url", metavar="URL", help="URL of the webhooks, instead of a Service."),
    click.option(
        "--webhook-host", metavar="HOST", default="127.0.0.1", help="Address to listen on; default: 127.0.0.1."
    ),
    click.option("--webhook-port", type=PORT, default=0, help="Port to listen on; default: a free one."),
    click.option("--webhook-secret", metavar="NAME", help="Secret with tls.crt, tls.key and ca.crt."),
    click.option(
        "--webhook-certs",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder with the same files instead.",
    ),
)


def webhook_serving_options(function: F) -> F:
    """Add the options about how webhooks are reached."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookServing:
    """The values of the options."""

    service: str | None = None
    url: str | None = None
    host: str = "127.0.0.1"
    port: int = 0
    secret: str | None = None
    certs: Path | None = None

    def __post_init__(self) -> None:
        if self.service and self.url:
            raise click.UsageError("--webhook-service and --webhook-url exclude each other: pass one of them")
        if (self.secret or self.certs) and not self.service:
            raise click.UsageError("--webhook-secret and --webhook-certs need --webhook-service")
        if self.secret and self.certs:
            raise click.UsageError("--webhook-secret and --webhook-certs exclude each other: pass one of them")

    def front(self, operators: Sequence["Operator"], *, is_local: bool) -> "WebhookListener | None":
        """Return how webhooks are reached; ``None`` if there are none, or no option says how.

        If the server runs on this machine they are called directly, without any option.
        """
        from steersman.webhook.operator_webhooks import need_webhooks

        if not need_webhooks(operators):
            self._report_unused(operators)
            return None
        if self.service:
            return self._behind_service(operators[0].name)
        if self.url or is_local:
            from steersman.webhook.serving.tls_listener import local_listener

            return local_listener(self.url or "", host=self.host, port=self.port)
        return None

    def _report_unused(self, operators: Sequence["Operator"]) -> None:
        if option := "--webhook-service" if self.service else "--webhook-url" if self.url else "":
            names = ", ".join(operator.name for operator in operators)
            _log.warning("%s has no effect: the operator %s has no webhooks and no conversions", option, names)

    def _behind_service(self, operator: str) -> "WebhookListener":
        from steersman.webhook.certificates.sources import FileCertificates, SecretCertificates
        from steersman.webhook.registration.configurations import secret_name
        from steersman.webhook.serving.server import ServerPlace
        from steersman.webhook.serving.tls_listener import TlsListener, service_listener

        address = self._address()
        if not self.secret and not self.certs:
            return service_listener(address, secret_name(operator), host=self.host, port=self.port)
        secret, certs = self.secret or "", self.certs or Path()
        return TlsListener(
            place=ServerPlace(host=self.host, port=self.port, address=address),
            certificates=lambda client, _: (
                SecretCertificates(client, address.namespace, secret) if secret else FileCertificates(certs)
            ),
        )

    def _address(self) -> "ServiceAddress":
        from steersman.webhook.serving.address import ServiceAddress

        namespace, slash, name = (self.service or "").partition("/")
        if not slash or not namespace or not name:
            raise click.BadParameter(f"{self.service!r} is not NAMESPACE/NAME", param_hint="--webhook-service")
        return ServiceAddress(namespace, name)
