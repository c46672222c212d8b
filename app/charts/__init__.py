"""Charts: plain numbers and texts -> Plotly figures; nothing here knows the page or the service."""
