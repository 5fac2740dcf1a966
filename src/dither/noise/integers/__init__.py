"""Noise on the integers, one distribution a file, and the tables and passes that draw it fast."""
