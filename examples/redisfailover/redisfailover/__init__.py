"""The operator redisfailover."""
