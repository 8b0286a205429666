"""The model endpoint: an agent in a sandbox reaches its model, the keys stay outside, every call is written down."""
