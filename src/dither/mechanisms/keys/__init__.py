"""Which group keys may be shown: partition selection, and the groups sealed until then."""
