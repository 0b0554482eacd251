"""Before an experiment: what it will take."""
