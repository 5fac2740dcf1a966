"""Commands of studies without a trusted curator."""
