"""One rule a file; `registry` names them all."""
