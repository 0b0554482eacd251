"""The chapter "Past the paper": one module per section; ``chapter`` has their order."""
