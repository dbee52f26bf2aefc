"""The documentation site: the Markdown of this repository and a generated reference, as static pages.

`__main__` builds it (`make site`). `sections` reads ``docs/site.toml``, `sources` collects the pages in a folder that
Sphinx reads, `reference` writes the pages about names, commands, settings, errors, metrics and conditions, `pages` adds
what Sphinx does not write: the Markdown beside each page, ``llms.txt`` and the list of versions.
"""
