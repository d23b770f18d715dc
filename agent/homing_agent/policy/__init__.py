"""What may happen on this phone, and who has to say so."""
