from hypothesis import settings

# The same examples on every run, and no deadline: the first call of a kernel compiles it.
# Look for new examples with `pytest --hypothesis-profile=default`.
settings.register_profile("ci", derandomize=True, print_blob=True, deadline=None)
settings.load_profile("ci")
