"""Private MySQL servers: their settings, tests, data, and the client that loads them."""
