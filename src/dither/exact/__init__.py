"""Numbers without rounding surprises: exact parameters, balls with proven bounds, honest digits."""
