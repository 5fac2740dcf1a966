"""What a released profile tells the planner: how rows and values are spread over owners."""
