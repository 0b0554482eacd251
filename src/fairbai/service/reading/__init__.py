"""From rows in the database to answers about experiments."""
