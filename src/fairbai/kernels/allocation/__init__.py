"""The allocation problem: the best shares above floors, and within ceilings and group floors."""
