"""Generators that learn from the votes of teachers alone (`pip install 'privet[torch]'`)."""

from privet._face import needs

# Where torch is missing nothing of this folder is imported, and no law is asked of what cannot run. It is not loaded here.
needs("torch", room=__name__)
