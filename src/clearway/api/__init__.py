"""HTTP to the controller: who may come in, what they may ask, and how errors are told."""
