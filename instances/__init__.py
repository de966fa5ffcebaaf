"""Bundled instances: found by name, with what is proven about them."""

if __name__ != "rarmodel.instances":
    raise ImportError(
        f"this folder is imported as rarmodel.instances, not as {__name__}; "
        "install the project (pip install -e .) and import rarmodel.instances"
    )

from .catalogue import Entry, catalogue, text_of

__all__ = ["Entry", "catalogue", "text_of"]
