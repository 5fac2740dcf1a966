"""Noise on a secret sample: Gaussian and Laplace, added, removed and replaced records."""
