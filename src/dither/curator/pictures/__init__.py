"""Pictures that a curator and an analyst ask for."""
