"""What learns from how things went, and the libraries that it stands on."""
