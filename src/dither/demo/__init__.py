"""A synthetic clinic to try dither on. Nobody in it exists."""
