"""`dither price`: the picture it draws."""
