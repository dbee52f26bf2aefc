"""Deliver notifications to each type of handler. A `DeliveryError` is retried, a `RejectedError` is not."""

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
#: Seconds to wait for a response.
_TIMEOUT = 10.0
_OK, _REJECTIONS, _TEMPORARY = range(200, 300), range(400, 500), (408, 425, 429)
_SMTP_PORT, _SMTP_REJECTIONS = 25, 500


class DeliveryError(SteersmanError):
    """A delivery failed; a retry may help."""


class RejectedError(SteersmanError):
    """The handler rejected a notification; a retry cannot help."""


#: Notifies one handler; ``secret`` is the value of its ``secretRef``, empty without one.
Sink: TypeAlias = Callable[[Notification, Handler, str, Context[Watcher]], Awaitable[None]]


async def post_webhook(notification: Notification, handler: Handler, secret: str, ctx: Context[Watcher]) -> None:
    """Post a short JSON document."""
    about = {
        "kind": notification.kind,
        "name": notification.key.name,
        "namespace": notification.key.namespace,
        "reason": notification.reason,
    }
    message = {"eventmeta": about, "text": notification.text, "time": format_time(notification.time)}
    await _post(secret or handler.url or "", message, ctx)


async def post_slack_webhook(notification: Notification, handler: Handler, secret: str, ctx: Context[Watcher]) -> None:
    """Post to an incoming webhook of Slack."""
    await _post(secret or handler.url or "", {"text": notification.text}, ctx)


async def post_slack(notification: Notification, handler: Handler, secret: str, ctx: Context[Watcher]) -> None:
    """Post as a Slack app; the body of the response shows whether Slack accepted it."""
    message = {"channel": handler.channel, "text": notification.text}
    response = await _post(handler.url or SLACK, message, ctx, headers={"authorization": f"Bearer {secret}"})
    try:
        reply = decode_json(response.body)
    except DecodeError as error:
        raise DeliveryError(f"the response of slack is not JSON: {error}") from error
    if reply.get("ok") is not True:
        raise RejectedError(f"slack rejected it: {reply.get('error', 'without a reason')}")


async def post_cloud_event(notification: Notification, handler: Handler, secret: str, ctx: Context[Watcher]) -> None:
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


async def send_mail(notification: Notification, handler: Handler, secret: str, _: Context[Watcher]) -> None:
    """Send a mail; the library blocks, so it runs in a thread."""
    await asyncio.to_thread(_send_mail, notification, handler, secret)


async def write_log(notification: Notification, _: Handler, __: str, ctx: Context[Watcher]) -> None:
    """Write a line into the log of the operator."""
    ctx.log.info(notification.text, extra={"event": notification.event, "subject": str(notification.key)})


SINKS: dict[HandlerType, Sink] = {
    "webhook": post_webhook,
    "slackwebhook": post_slack_webhook,
    "slack": post_slack,
    "cloudevent": post_cloud_event,
    "smtp": send_mail,
    "log": write_log,
}


async def _post(
    url: str, message: Mapping[str, Any], ctx: Context[Watcher], *, headers: Mapping[str, str] | None = None
) -> Response:
    try:
        response = await ctx.http(url).request("POST", json=message, headers=headers, timeout=_TIMEOUT)
    except TransportError as error:
        raise DeliveryError(f"no response: {error}") from error
    except ConfigError as error:
        raise RejectedError(str(error)) from error
    if response.status in _OK:
        return response
    if response.status in _REJECTIONS and response.status not in _TEMPORARY:
        raise RejectedError(f"responded with {response.status}")
    raise DeliveryError(f"responded with {response.status}")


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
        rejected = RejectedError if error.smtp_code >= _SMTP_REJECTIONS else DeliveryError
        raise rejected(f"responded with {error.smtp_code}") from error
    except smtplib.SMTPRecipientsRefused as error:
        raise RejectedError("no recipient was accepted") from error
    except (OSError, smtplib.SMTPException) as error:
        raise DeliveryError(f"no response: {error}") from error
