"""Values chosen by their rank, on a grid or among listed answers."""
