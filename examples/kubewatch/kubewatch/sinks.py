"""How each type of handler is told. What can be tried again is a ``DeliveryError``, what cannot a ``RefusedError``."""

import asyncio
import smtplib
from collections.abc import Awaitable, Callable, Mapping
from email.message import EmailMessage
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from steersman import Context, SteersmanError
from steersman.errors import ConfigError, DecodeError, TransportError
from steersman.objects import decode_json, format_time
from steersman.protocol import Response

from kubewatch.api.watcher_v1 import Handler, HandlerType, Watcher
from kubewatch.notification import Notification

SLACK = "https://slack.com/api/chat.postMessage"
#: Seconds that a handler gets to answer.
_TIMEOUT = 10.0
_OK, _REFUSALS, _NOT_NOW = range(200, 300), range(400, 500), (408, 425, 429)
_SMTP_PORT, _SMTP_REFUSALS = 25, 500


class DeliveryError(SteersmanError):
    """The handler was not told this time."""


class RefusedError(SteersmanError):
    """The handler does not want to be told, however often it is tried."""


#: Tells one handler; ``secret`` is the value that its ``secretRef`` names, empty without one.
Sink: TypeAlias = Callable[[Notification, Handler, str, Context[Watcher]], Awaitable[None]]


async def tell_webhook(notification: Notification, handler: Handler, secret: str, ctx: Context[Watcher]) -> None:
    """Post a short JSON document."""
    about = {
        "kind": notification.kind,
        "name": notification.key.name,
        "namespace": notification.key.namespace,
        "reason": notification.reason,
    }
    message = {"eventmeta": about, "text": notification.text, "time": format_time(notification.time)}
    await _post(secret or handler.url or "", message, ctx)


async def tell_slack_webhook(notification: Notification, handler: Handler, secret: str, ctx: Context[Watcher]) -> None:
    """Post to an incoming webhook of Slack."""
    await _post(secret or handler.url or "", {"text": notification.text}, ctx)


async def tell_slack(notification: Notification, handler: Handler, secret: str, ctx: Context[Watcher]) -> None:
    """Post as a Slack app; Slack says in the body whether it took it."""
    message = {"channel": handler.channel, "text": notification.text}
    answer = await _post(handler.url or SLACK, message, ctx, headers={"authorization": f"Bearer {secret}"})
    try:
        said = decode_json(answer.body)
    except DecodeError as error:
        raise DeliveryError(f"slack did not answer with JSON: {error}") from error
    if said.get("ok") is not True:
        raise RefusedError(f"slack refused: {said.get('error', 'it did not say why')}")


async def tell_cloud_event(notification: Notification, handler: Handler, secret: str, ctx: Context[Watcher]) -> None:
    """Post a CloudEvent in structured mode; a repeated delivery has the same id."""
    event = {
        "specversion": "1.0",
        "id": f"{notification.uid}.{notification.version}",
        "type": f"com.example.kubewatch.{notification.event}",
        "source": f"/apis/{notification.api_version}",
        "subject": f"{notification.kind}/{notification.key}",
        "time": format_time(notification.time),
        "datacontenttype": "application/json",
        "data": {
            "operation": notification.event,
            "kind": notification.kind,
            "apiVersion": notification.api_version,
            "description": notification.text,
            "obj": notification.obj,
            "oldObj": notification.old,
        },
    }
    headers = {"content-type": "application/cloudevents+json"}
    await _post(secret or handler.url or "", event, ctx, headers=headers)


async def tell_by_mail(notification: Notification, handler: Handler, secret: str, _: Context[Watcher]) -> None:
    """Send a mail; the library waits, so it does so in a thread."""
    await asyncio.to_thread(_send_mail, notification, handler, secret)


async def tell_log(notification: Notification, _: Handler, __: str, ctx: Context[Watcher]) -> None:
    """Write a line into the operator's own log."""
    ctx.log.info(notification.text, extra={"event": notification.event, "subject": str(notification.key)})


SINKS: dict[HandlerType, Sink] = {
    "webhook": tell_webhook,
    "slackwebhook": tell_slack_webhook,
    "slack": tell_slack,
    "cloudevent": tell_cloud_event,
    "smtp": tell_by_mail,
    "log": tell_log,
}


async def _post(
    url: str, message: Mapping[str, Any], ctx: Context[Watcher], *, headers: Mapping[str, str] | None = None
) -> Response:
    try:
        answer = await ctx.http(url).request("POST", json=message, headers=headers, timeout=_TIMEOUT)
    except TransportError as error:
        raise DeliveryError(f"no answer: {error}") from error
    except ConfigError as error:
        raise RefusedError(str(error)) from error
    if answer.status in _OK:
        return answer
    if answer.status in _REFUSALS and answer.status not in _NOT_NOW:
        raise RefusedError(f"answered {answer.status}")
    raise DeliveryError(f"answered {answer.status}")


def _send_mail(notification: Notification, handler: Handler, password: str) -> None:
    mail = EmailMessage()
    mail["From"], mail["To"] = handler.sender, ", ".join(handler.recipients or ())
    mail["Subject"] = notification.text
    mail.set_content(f"{notification.text} at {format_time(notification.time)}.\n")
    server = urlsplit(handler.url or "")
    try:
        with smtplib.SMTP(server.hostname or "", server.port or _SMTP_PORT, timeout=_TIMEOUT) as smtp:
            if smtp.has_extn("starttls"):
                smtp.starttls()
            if password:
                smtp.login(server.username or handler.sender or "", password)
            smtp.send_message(mail)
    except smtplib.SMTPResponseException as error:
        refused = RefusedError if error.smtp_code >= _SMTP_REFUSALS else DeliveryError
        raise refused(f"answered {error.smtp_code}") from error
    except smtplib.SMTPRecipientsRefused as error:
        raise RefusedError("no recipient was accepted") from error
    except (OSError, smtplib.SMTPException) as error:
        raise DeliveryError(f"no answer: {error}") from error
