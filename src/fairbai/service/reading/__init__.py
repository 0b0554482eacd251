"""What the database says about an experiment."""
