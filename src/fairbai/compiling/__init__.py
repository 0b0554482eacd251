"""How kernels become machine code: the two tiers, the cache between processes, and the process that fills it."""
