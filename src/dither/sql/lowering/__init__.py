"""TRUSTED. From a checked plan to SQL in one engine's dialect."""
