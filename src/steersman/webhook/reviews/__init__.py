"""Answering reviews: ``admission_review`` is the message, ``review_handler`` calls the author's function."""
