"""Several guarantees together, groups of records, samples, and the noise that a target allows."""
