"""`ServiceAccountTokens`: signed tokens by which service accounts are known.

A token is a JSON web token, signed with a key that is made when the first token is. It is good as long as it has not
expired and its account, and what it is bound to, still exist. The key lives as long as the server, or its data.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.request_context import User
from steersman.clock import Clock
from steersman.errors import ConfigError
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json, encode_json
from steersman.randomness import Randomness

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

ISSUER = AUDIENCE = "https://kubernetes.default.svc"
_PREFIX = "system:serviceaccount:"
#: How many verified tokens are remembered.
_REMEMBERED = 1024
_HALF = 32
#: Kinds that a token can be bound to, each with its resource.
BOUND_TO = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


@dataclass(frozen=True, slots=True)
class Bound:
    """An object without which a token is no longer good."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Verified:
    """A valid token: its account, and its audiences."""

    user: User
    audiences: tuple[str, ...]


def service_account_user(namespace: str, name: str, uid: str = "", extra: JsonObject | None = None) -> User:
    """Return the user of a service account."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    told = tuple((key, tuple(values)) for key, values in (extra or {}).items())
    return User(f"{_PREFIX}{namespace}:{name}", groups, uid, told)


class ServiceAccountTokens:
    """Issues and verifies the tokens of one server."""

    def __init__(self, objects: ObjectStore, clock: Clock, randomness: Randomness, key: bytes | None = None) -> None:
        """Sign with a PEM key of the curve P-256; without one a new key is made when it is first needed."""
        self._objects = objects
        self._clock = clock
        self._randomness = randomness
        self._private: EllipticCurvePrivateKey | None = None if key is None else _private_key(key)
        #: Tokens whose signature is known to be good; everything else about them is checked each time.
        self._signed: dict[str, JsonObject] = {}

    def issue(
        self,
        account: tuple[str, str, str],
        audiences: Sequence[str] = (AUDIENCE,),
        seconds: int = 3600,
        bound: Bound | None = None,
    ) -> tuple[str, datetime]:
        """Make a token for an account (namespace, name, uid); give it with the time until which it is good."""
        namespace, name, uid = account
        now = self._clock.now().replace(microsecond=0)
        end = now + timedelta(seconds=seconds)
        about: JsonObject = {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}}
        if bound is not None:
            about[bound.kind.lower()] = {"name": bound.name, "uid": bound.uid}
        claims = {
            "aud": list(audiences),
            "exp": int(end.timestamp()),
            "iat": int(now.timestamp()),
            "iss": ISSUER,
            "jti": self._randomness.uid(),
            "kubernetes.io": about,
            "nbf": int(now.timestamp()),
            "sub": f"{_PREFIX}{namespace}:{name}",
        }
        return self._sign(claims), end

    def verify(self, token: str) -> Verified | None:
        """Return the user of a token; ``None`` if it is forged, expired, or its account is deleted."""
        claims = self._signed.get(token)
        if claims is None:
            claims = self._opened(token)
            if claims is None:
                return None
            if len(self._signed) >= _REMEMBERED:
                self._signed.clear()
            self._signed[token] = claims
        if not claims["nbf"] <= self._clock.now().timestamp() < claims["exp"] or not self._is_backed(claims):
            return None
        about = claims["kubernetes.io"]
        account = about["serviceaccount"]
        extra: JsonObject = {"authentication.kubernetes.io/credential-id": [f"JTI={claims['jti']}"]}
        for kind in ("node", "pod"):
            if kind in about:
                extra[f"authentication.kubernetes.io/{kind}-name"] = [about[kind]["name"]]
                extra[f"authentication.kubernetes.io/{kind}-uid"] = [about[kind]["uid"]]
        user = service_account_user(about["namespace"], account["name"], account["uid"], extra)
        return Verified(user, tuple(claims["aud"]))

    def _is_backed(self, claims: JsonObject) -> bool:
        """Return whether the account of a token, and the object to which it is bound, still exist."""
        about = claims["kubernetes.io"]
        namespace, account = about["namespace"], about["serviceaccount"]
        if not self._exists("serviceaccounts", namespace, account):
            return False
        return all(
            self._exists(plural, "" if kind == "Node" else namespace, about[kind.lower()])
            for kind, plural in BOUND_TO.items()
            if kind.lower() in about
        )

    def _exists(self, resource: str, namespace: str, reference: JsonObject) -> bool:
        record = self._objects.store.get(resource, namespace, reference["name"])
        return record is not None and record.uid == reference["uid"]

    def _key(self) -> "EllipticCurvePrivateKey":
        if self._private is None:
            from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - most servers never need it

            self._private = ec.generate_private_key(ec.SECP256R1())
        return self._private

    def keys(self) -> JsonObject:
        """Return the public key as a JSON web key set."""
        numbers = self._key().public_key().public_numbers()
        key = {
            "use": "sig",
            "kty": "EC",
            "kid": self._key_id(),
            "crv": "P-256",
            "alg": "ES256",
            "x": _text(numbers.x.to_bytes(_HALF)),
            "y": _text(numbers.y.to_bytes(_HALF)),
        }
        return {"keys": [key]}

    def _key_id(self) -> str:
        return _text(self._key().public_key().public_numbers().x.to_bytes(_HALF))

    def _sign(self, claims: JsonObject) -> str:
        from cryptography.hazmat.primitives import hashes  # noqa: PLC0415 - most servers never need it
        from cryptography.hazmat.primitives.asymmetric import ec, utils  # noqa: PLC0415 - as above

        head = encode_json({"alg": "ES256", "kid": self._key_id()})
        signed = f"{_text(head)}.{_text(encode_json(claims))}"
        first, second = utils.decode_dss_signature(self._key().sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{signed}.{_text(first.to_bytes(_HALF) + second.to_bytes(_HALF))}"

    def _opened(self, token: str) -> JsonObject | None:
        """Verify a signature and return the claims. The header is ignored: there is one key and one algorithm."""
        signed, _, signature = token.rpartition(".")
        head, _, body = signed.partition(".")
        if self._private is None or not (head and body):
            return None
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - most servers never need it
        from cryptography.hazmat.primitives import hashes  # noqa: PLC0415 - as above
        from cryptography.hazmat.primitives.asymmetric import ec, utils  # noqa: PLC0415 - as above

        try:
            raw = _bytes(signature)
            pair = utils.encode_dss_signature(int.from_bytes(raw[:_HALF]), int.from_bytes(raw[_HALF:]))
            self._private.public_key().verify(pair, signed.encode(), ec.ECDSA(hashes.SHA256()))
            claims: JsonObject = decode_json(_bytes(body))
        except (InvalidSignature, ValueError):
            return None
        return claims


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _private_key(key: bytes) -> "EllipticCurvePrivateKey":
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - only a server that keeps data needs it
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415 - as above

    try:
        private = load_pem_private_key(key, password=None)
    except (ValueError, TypeError):
        private = None
    if not isinstance(private, ec.EllipticCurvePrivateKey) or not isinstance(private.curve, ec.SECP256R1):
        raise ConfigError("tokens of service accounts are signed with a PEM key of the curve P-256")
    return private
