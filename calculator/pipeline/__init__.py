"""The data tools: they read data/ and write build/ and site/api/."""
