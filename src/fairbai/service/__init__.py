"""The HTTP service: live experiments that lose no acknowledged reward. Needs the extra ``service``."""
