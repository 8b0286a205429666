"""What providers that run candidates on this host are made of; nothing here knows a provider."""
