"""Recipes that raise accuracy at the same price: features, views, and training a part of a model."""
