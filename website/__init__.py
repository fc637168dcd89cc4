"""What the documentation's site has beside the pages in ``docs/``: records, commands, schemas; made when it is built.

Nothing here knows what builds the site but :mod:`website.hooks`.
"""
