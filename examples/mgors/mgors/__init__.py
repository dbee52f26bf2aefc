"""The operator mgors: MongoDB replica sets."""
