"""CertificateSigningRequests. ``family.py`` registers the kind."""
