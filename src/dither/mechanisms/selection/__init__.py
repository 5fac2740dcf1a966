"""One candidate chosen by its score."""
