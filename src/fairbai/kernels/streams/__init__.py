"""Random numbers that depend on nothing but their place, and rewards made from them."""
