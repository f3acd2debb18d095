"""The parts of this project; conf/ names their classes."""
