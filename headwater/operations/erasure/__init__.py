"""`headwater forget`: erase what is stored about one person or one dataset."""
