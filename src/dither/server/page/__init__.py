"""The web page: files that are built from web/, and sessions by cookie for them. All else goes through the HTTP API."""
