"""The admin listener: counts for those who watch a server, at an address of its own and for tokens alone."""
