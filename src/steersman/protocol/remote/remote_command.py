"""The protocol of a command in a container over a WebSocket: channels, and its exit status. Pure."""

from enum import IntEnum
from typing import Any

from steersman.objects.codec import decode_json, encode_json

#: Subprotocols, the newest first. The fifth version can signal the end of the input.
PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")


class Channel(IntEnum):
    """The first byte of each message."""

    STDIN = 0
    STDOUT = 1
    STDERR = 2
    ERROR = 3
    RESIZE = 4
    #: The next byte names the channel that ends.
    CLOSE = 255


def message(channel: Channel, data: bytes) -> bytes:
    """Return a message of a channel."""
    return bytes((channel,)) + data


def end_of_input() -> bytes:
    """Return the message that signals the end of the input; only in the fifth version."""
    return bytes((Channel.CLOSE, Channel.STDIN))


def ended(exit_code: int) -> bytes:
    """Return how a command ended, as a Status."""
    if exit_code == 0:
        return encode_json({"metadata": {}, "status": "Success"})
    return encode_json(
        {
            "metadata": {},
            "status": "Failure",
            "message": f"command terminated with non-zero exit code: exit status {exit_code}",
            "reason": "NonZeroExitCode",
            "details": {"causes": [{"reason": "ExitCode", "message": str(exit_code)}]},
        }
    )


def failed(text: str) -> bytes:
    """Return that a command could not be run, as a Status."""
    return encode_json(
        {
            "metadata": {},
            "status": "Failure",
            "message": f"Internal error occurred: {text}",
            "reason": "InternalError",
            "details": {"causes": [{"message": text}]},
            "code": 500,
        }
    )


def read_end(status: bytes) -> tuple[int | None, str]:
    """Parse how a command ended: its exit code, and the message; no code if it could not be run."""
    told: Any = decode_json(status)
    if not isinstance(told, dict):
        return None, "the server sent no status"
    if told.get("status") == "Success":
        return 0, ""
    text = str(told.get("message") or "")
    if told.get("reason") == "NonZeroExitCode":
        for cause in (told.get("details") or {}).get("causes") or ():
            if cause.get("reason") == "ExitCode" and str(cause.get("message", "")).isdigit():
                return int(cause["message"]), text
    return None, text
