"""Private choice of hyperparameters."""

from privet._face import face
from privet.learn.search.private_search import PrivateSearchCV as PrivateSearchCV, SearchFit as SearchFit

__all__, __dir__ = face(globals())
