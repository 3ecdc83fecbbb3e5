"""How do I look at what happened: plots, pages, and widgets to browse, play and review?"""
