"""What runs in the interpreter that is looked at: the standard library and the packages under test, nothing of ours.

It has to run on Python 3.8. ``worker.py`` is started as a script and loads recipes as modules of a package of its own,
so that modules of this folder import one another relatively.
"""
