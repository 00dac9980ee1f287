"""The command line. It talks to a controller through its HTTP interface only; simulate, test and replay run here."""
