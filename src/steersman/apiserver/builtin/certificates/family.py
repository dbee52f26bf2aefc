"""Registration of CertificateSigningRequests."""

from steersman.apiserver.builtin.certificates.signing_requests import SigningRequestStrategy
from steersman.apiserver.builtin.kind import BuiltinKind

KINDS = (
    BuiltinKind(
        "certificates.k8s.io",
        "CertificateSigningRequest",
        strategy=SigningRequestStrategy,
        validation="certificates.signing_request_validation:signing_request_errors",
        columns="certificates.columns:CERTIFICATE_SIGNING_REQUEST",
    ),
)
