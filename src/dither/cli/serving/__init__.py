"""Commands of those who serve a folder."""
