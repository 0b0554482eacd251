"""The chapter "Past the paper": one module a section, and ``chapter.py`` for their order."""
