"""Arms with features: the allocation problem of linear means, its evidence and its run loop."""
