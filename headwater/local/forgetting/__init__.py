"""`headwater forget`: what one person or one dataset has left, out of everything that Headwater keeps."""
