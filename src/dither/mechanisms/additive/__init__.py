"""Noise added on a public grid."""
