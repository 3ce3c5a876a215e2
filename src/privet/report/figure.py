"""Figures in the house style, for this room: what is drawn where no report is comes from the same place."""

from privet._figure import (
    PALETTE as PALETTE,
    Axes as Axes,
    Figure as Figure,
    accent as accent,
    label as label,
    muted as muted,
    new_figure as new_figure,
    new_panels as new_panels,
    require_plotting as require_plotting,
    save_figure as save_figure,
    strong as strong,
    title as title,
)
