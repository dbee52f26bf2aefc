"""The controllers of Jobs and CronJobs, and of finished Jobs that expire (``ttl``)."""
