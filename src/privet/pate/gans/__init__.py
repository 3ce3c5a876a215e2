"""Generators that learn from the votes of teachers alone (`pip install 'privet[torch]'`)."""

import torch as torch  # where it is missing nothing of this folder is imported, and no law is asked of what cannot run
