"""Models of RecTools, RecBole, LensKit, implicit and Cornac for recx, each library in an environment of its own."""
