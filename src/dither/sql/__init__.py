"""From SQL text to a bounded plan with a proven sensitivity. The text itself never reaches an engine."""
