"""The studio: a local page where you grab the character. `manikin.studio(...)` opens it, whether or not this was imported."""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manikin.studio.entry import studio as studio


def __getattr__(name: str) -> Any:
    if name == "studio":
        # the server is imported on first use
        from manikin.studio.entry import studio

        return studio
    raise AttributeError(f"module 'manikin.studio' has no attribute '{name}'")


class _Callable(ModuleType):
    """Importing a submodule sets this package as the attribute `manikin.studio`, hiding the function: so it is callable."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        from manikin.studio.entry import studio

        return studio(*args, **options)


sys.modules[__name__].__class__ = _Callable
