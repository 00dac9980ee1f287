"""Questions about the past, which take seconds: answered by a process of their own, so that the loop is never held."""
