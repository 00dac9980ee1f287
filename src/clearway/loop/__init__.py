"""One step of the world, shared by both drivers: retries, leases, recovery, what was meant against what is seen."""
