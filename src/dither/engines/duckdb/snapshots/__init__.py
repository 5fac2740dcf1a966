"""TRUSTED. From records to a protected snapshot: sanitised, owned, ranked, verified."""
