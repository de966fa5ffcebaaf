"""The policies that come with rarmodel, by family."""
