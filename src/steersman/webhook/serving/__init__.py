"""How the API server reaches the webhooks: addresses, listeners, the HTTPS server, and the routes behind it."""
