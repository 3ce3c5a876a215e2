"""From docs/ and the docstrings to a site that is checked: `python -m tools.site`.

The generator (Zensical) runs no hooks, so whatever it lacks is done before it, on a copy of the pages (`stage`), inside
it, as extensions of Markdown and of the docstring reader (`formulas`, `docstrings`), or after it (`gate`).
"""
