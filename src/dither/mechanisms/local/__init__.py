"""Mechanisms that treat each record by itself."""
