"""What budgets count in, and budgets that cannot be overrun."""
