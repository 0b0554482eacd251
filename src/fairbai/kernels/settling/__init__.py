"""Which arms come last, so that every floor is met at the stop."""
