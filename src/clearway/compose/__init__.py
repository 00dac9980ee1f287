"""The one room that knows who is who: which store, which engine and which policies a controller is made of."""
