"""Gradio's theme; the rest of the look is static/page.css.

Nothing is loaded from elsewhere: fonts are the system's.
"""

import gradio as gr
from gradio.themes.utils import sizes

_FONTS = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "sans-serif"]

THEME = gr.themes.Base(
    primary_hue="blue",
    neutral_hue="slate",
    font=_FONTS,
    font_mono=["ui-monospace", "Menlo", "Consolas", "monospace"],
    radius_size=sizes.radius_md,
).set(
    # Gradio's own greys are too pale for small text (WCAG AA).
    body_text_color_subdued="*neutral_600",
    body_text_color_subdued_dark="*neutral_300",
    block_info_text_color="*neutral_600",
    block_info_text_color_dark="*neutral_300",
    block_label_text_color="*neutral_700",
    block_label_text_color_dark="*neutral_200",
    block_title_text_color="*neutral_700",
    block_title_text_color_dark="*neutral_200",
    input_placeholder_color="*neutral_500",
    input_placeholder_color_dark="*neutral_400",
    button_primary_background_fill="*primary_700",
    button_primary_background_fill_hover="*primary_800",
    button_primary_background_fill_dark="*primary_700",
    button_primary_background_fill_hover_dark="*primary_600",
    button_primary_text_color="white",
    button_primary_text_color_dark="white",
)
