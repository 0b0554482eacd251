"""What an experiment over HTTP is: no SQL and no HTTP."""
