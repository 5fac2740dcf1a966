"""TRUSTED. What an officer decides about accounts: frozen, lowered, closed; and by signature alone, granted more."""
