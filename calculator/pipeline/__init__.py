"""The data tools: check, tables, bundle, diff, stale, refresh and the API files. They read data/ and write build/ or site/."""
