"""Releases that test the data first and may refuse."""
