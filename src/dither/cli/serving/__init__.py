"""Commands of those who serve a folder, and of those who ask a server."""
