"""What is done with noisy numbers: finished columns, formulas, and which rows are shown in which order."""
