"""What any loss does over batches from collapsed to well spread: measured, judged, drawn."""
