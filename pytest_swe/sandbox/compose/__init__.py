"""Groups of sandboxes as Docker Compose makes them, and images that tasks bring as a Dockerfile."""
