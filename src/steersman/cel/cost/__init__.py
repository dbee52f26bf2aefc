"""What an expression may cost (``estimator``) and what an evaluation did cost (``metering``)."""
