"""Leases, and Events of both API groups. ``family.py`` lists the kinds."""
