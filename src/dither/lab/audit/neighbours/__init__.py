"""One question on two neighbouring databases: all that shows before the noise must agree."""
