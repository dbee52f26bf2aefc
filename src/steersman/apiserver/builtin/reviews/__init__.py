"""TokenReviews, SubjectAccessReviews and their relatives. ``family.py`` lists the kinds."""
