"""Noise in proportion to a smooth sensitivity, one distribution a file."""
