"""`dither price`: the written plan it reads and the picture it draws."""
