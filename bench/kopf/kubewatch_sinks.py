"""Deliver notifications to each type of handler, for the operator that is written with kopf (kubewatch.py)."""

import asyncio
import json
import logging
import smtplib
from collections.abc import Awaitable, Callable
from email.message import EmailMessage
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from kubewatch_notification import PAST, Notification

SLACK = "https://slack.com/api/chat.postMessage"
#: Seconds to wait for a response.
TIMEOUT = 10.0
#: Status codes of rejections that are temporary.
NOT_NOW = (408, 425, 429)

log = logging.getLogger("kubewatch")


class DeliveryError(Exception):
    """A delivery failed; a retry may help."""


class RefusedError(Exception):
    """The handler rejected a notification; a retry cannot help."""


async def tell_webhook(
    told: Notification, handler: dict[str, Any], secret: str, session: aiohttp.ClientSession
) -> None:
    """Post a short JSON document."""
    _, kind, namespace, name = told.subject
    about = {"kind": kind, "name": name, "namespace": namespace, "reason": PAST[told.event]}
    message = {"eventmeta": about, "text": told.text, "time": told.time}
    await post(session, secret or handler["url"], message)


async def tell_slack_webhook(
    told: Notification, handler: dict[str, Any], secret: str, session: aiohttp.ClientSession
) -> None:
    """Post to an incoming webhook of Slack."""
    await post(session, secret or handler["url"], {"text": told.text})


async def tell_slack(told: Notification, handler: dict[str, Any], secret: str, session: aiohttp.ClientSession) -> None:
    """Post as a Slack app; the body of the response shows whether Slack accepted it."""
    message = {"channel": handler["channel"], "text": told.text}
    answer = await post(session, handler.get("url", SLACK), message, {"Authorization": f"Bearer {secret}"})
    try:
        said = json.loads(answer)
    except ValueError as error:
        raise DeliveryError(f"slack did not answer with JSON: {error}") from error
    if said.get("ok") is not True:
        raise RefusedError(f"slack refused: {said.get('error', 'it did not say why')}")


async def tell_cloud_event(
    told: Notification, handler: dict[str, Any], secret: str, session: aiohttp.ClientSession
) -> None:
    """Post a CloudEvent in structured mode; a repeated delivery has the same id."""
    api_version, kind, namespace, name = told.subject
    metadata = told.obj["metadata"]
    event = {
        "specversion": "1.0",
        "id": f"{metadata['uid']}.{metadata['resourceVersion']}",
        "type": f"com.example.kubewatch.{told.event}",
        "source": f"/apis/{api_version}",
        "subject": f"{kind}/{namespace}/{name}" if namespace else f"{kind}/{name}",
        "time": told.time,
        "datacontenttype": "application/json",
        "data": {
            "operation": told.event,
            "kind": kind,
            "apiVersion": api_version,
            "description": told.text,
            "obj": told.obj,
            "oldObj": told.old,
        },
    }
    await post(session, secret or handler["url"], event, {"Content-Type": "application/cloudevents+json"})


async def tell_by_mail(told: Notification, handler: dict[str, Any], secret: str, _: aiohttp.ClientSession) -> None:
    """Send a mail; the library blocks, so it runs in a thread."""
    await asyncio.to_thread(send_mail, told, handler, secret)


async def tell_log(told: Notification, *_: Any) -> None:
    """Write a line into the log of the operator."""
    log.info(told.text)


SINKS: dict[str, Callable[[Notification, dict[str, Any], str, aiohttp.ClientSession], Awaitable[None]]] = {
    "webhook": tell_webhook,
    "slackwebhook": tell_slack_webhook,
    "slack": tell_slack,
    "cloudevent": tell_cloud_event,
    "smtp": tell_by_mail,
    "log": tell_log,
}


async def post(
    session: aiohttp.ClientSession, url: str, message: dict[str, Any], headers: dict[str, str] | None = None
) -> str:
    """Post a document, and return the response."""
    headers = {"Content-Type": "application/json"} | (headers or {})
    # Without spaces, as other clients encode it.
    data = json.dumps(message, separators=(",", ":"))
    try:
        async with session.post(url, data=data, headers=headers) as answer:
            said = await answer.text()
    except aiohttp.InvalidURL as error:
        raise RefusedError(f"{error} is not a URL") from error
    except (aiohttp.ClientError, TimeoutError) as error:
        raise DeliveryError(f"no answer: {error}") from error
    if answer.ok:
        return said
    refused = 400 <= answer.status < 500 and answer.status not in NOT_NOW
    raise (RefusedError if refused else DeliveryError)(f"answered {answer.status}")


def send_mail(told: Notification, handler: dict[str, Any], password: str) -> None:
    """Send a mail."""
    mail = EmailMessage()
    mail["From"], mail["To"] = handler["sender"], ", ".join(handler["recipients"])
    mail["Subject"] = told.text
    mail.set_content(f"{told.text} at {told.time}.\n")
    server = urlsplit(handler["url"])
    try:
        with smtplib.SMTP(server.hostname or "", server.port or 25, timeout=TIMEOUT) as smtp:
            if smtp.has_extn("starttls"):
                smtp.starttls()
            if password:
                smtp.login(server.username or handler["sender"], password)
            smtp.send_message(mail)
    except smtplib.SMTPResponseException as error:
        refused = RefusedError if error.smtp_code >= 500 else DeliveryError
        raise refused(f"answered {error.smtp_code}") from error
    except smtplib.SMTPRecipientsRefused as error:
        raise RefusedError("no recipient was accepted") from error
    except (OSError, smtplib.SMTPException) as error:
        raise DeliveryError(f"no answer: {error}") from error
