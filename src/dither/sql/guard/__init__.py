"""TRUSTED. The guard: sensitivity recomputed from the very plan that goes to the engine."""
