"""Engines hold protected snapshots and return exact integer aggregates, sealed."""
