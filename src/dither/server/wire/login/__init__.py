"""Logging in over PostgreSQL's protocol: encryption, and the proof that somebody has a token."""
