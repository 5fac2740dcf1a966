"""Commands for those who learn."""
