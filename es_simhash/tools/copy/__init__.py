"""How do documents go to another index or file, with another Scheme or other keys?"""
