"""The curator as a process that analysts do not control: thin over its service."""
