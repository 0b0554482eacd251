"""Which arm next: the sampling rules, with floors and within ceilings and group floors."""
