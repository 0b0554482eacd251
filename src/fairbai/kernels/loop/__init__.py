"""An experiment in steps, and whole runs of it: alone, and over edge nodes."""
