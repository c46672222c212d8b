"""The study's runs read back, their figures and tables, and the text around them."""
