"""The sparse vector technique."""
