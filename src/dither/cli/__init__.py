"""The command line: thin. Every command is one call of the public API, printed."""
