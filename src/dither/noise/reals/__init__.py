"""Noise on the real line, rounded to a grid, one distribution a file."""
