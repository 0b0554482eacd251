"""Tables, figures and reports: what the simulations and the allocations look like."""
