"""One step of the world, shared by both drivers: retries, leases, recovery, reconciling what was meant with what is seen."""
