"""Pairs of distributions on finitely many outcomes: their atoms, and releases that may go either way."""
