"""Kinds of guarantee, their curves and conversions, one a file."""
