"""ConfigMaps, Secrets, ServiceAccounts, LimitRanges and ResourceQuotas. ``family.py`` lists the kinds.

What a LimitRange does to new pods is in ``pods/admission.py``.
"""
