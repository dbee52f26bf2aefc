"""Webhook configurations and admission policies as objects. ``family.py`` lists the kinds.

``apiserver/admission`` evaluates them.
"""
