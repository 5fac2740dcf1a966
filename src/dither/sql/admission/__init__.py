"""What a question may take at most, known before it is charged; what takes more is refused."""
