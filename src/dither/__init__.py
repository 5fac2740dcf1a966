"""dither: a differential-privacy curator, and the exact toolbox under it."""
