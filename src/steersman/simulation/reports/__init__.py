"""What a simulation found: as text, JSON and HTML, with the explanation of each failure."""
