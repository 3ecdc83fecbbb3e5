"""How do I run notebooks, one or many, and what does a run leave behind?"""
