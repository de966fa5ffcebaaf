"""How a wheel of rarmodel is built, with compiled code in it."""
