"""What authors of operators test with."""
