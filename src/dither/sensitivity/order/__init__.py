"""Statistics of records in order: extremes, median, quantiles, trimmed means."""
