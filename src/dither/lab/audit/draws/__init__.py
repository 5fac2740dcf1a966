"""Many releases of a mechanism at once, each exactly as the mechanism makes one."""
