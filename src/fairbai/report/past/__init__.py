"""The chapter "Past the paper": one module a section, each with a function ``section(runs, seed, progress)``."""
