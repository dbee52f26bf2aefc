"""What tests with real Redis processes stand on."""
