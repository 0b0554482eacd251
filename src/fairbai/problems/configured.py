"""What families, rates and rules have in common: frozen parameters, equality, and one JSON form."""

import re
from abc import ABC
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np

Form = str | Mapping[str, Any]
"""The JSON form of an object: its kind, or a dictionary with its kind and its parameters."""


@dataclass(frozen=True, eq=False)
class Configured(ABC):
    """A frozen dataclass that is named by its class in snake case and described by its parameters.

    ``{"kind": "inverse_gap", "p0": 0.7}`` stands for ``InverseGap(p0=0.7)`` in JSON, TOML and over HTTP. A direct
    subclass is a family of kinds; ``from_dict`` knows all its subclasses, those of users too.
    """

    argument: ClassVar[str]  # what errors call it
    kind: ClassVar[str]
    has_json: ClassVar[bool] = True  # False for what holds Python code
    _known: ClassVar[dict[str, type["Configured"]]]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if Configured in cls.__bases__:
            cls._known = {}
        elif not cls.__name__.startswith("_"):
            cls.kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()
            cls._known[cls.kind] = cls

    @classmethod
    def in_library(cls) -> list[type[Self]]:
        """All kinds that come with fairbai, in the order of their definition; users' kinds are left out."""
        ours = (kind for kind in cls._known.values() if kind.__module__.startswith("fairbai."))
        return [kind for kind in ours if issubclass(kind, cls)]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: the kind and the parameters."""
        parameters = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"kind": self.kind, **{name: _plain(value) for name, value in parameters.items()}}

    @classmethod
    def of(cls, form: Self | Form) -> Self:
        """The object that is given, as itself or in its JSON form."""
        return form if isinstance(form, cls) else cls.from_dict(form)  # type: ignore[arg-type]  # it checks

    @classmethod
    def from_dict(cls, form: Form) -> Self:
        """The object of a JSON form; a bare string is a kind with its default parameters."""
        if not isinstance(form, (Mapping, str)):
            raise ValueError(f"{cls.argument} must be a {cls.__name__}, its kind or its JSON form, got {form!r}")
        form = {"kind": form} if isinstance(form, str) else dict(form)
        kind = form.pop("kind", None)
        found = cls._known.get(str(kind))
        if found is None or not found.has_json or not issubclass(found, cls):
            kinds = ", ".join(sorted(name for name, one in cls._known.items() if one.has_json))
            why = "" if found is None or found.has_json else ", which is Python code and has no JSON form"
            raise ValueError(f"{cls.argument} must be one of {kinds}, got {kind!r}{why}")
        allowed = [field.name for field in fields(found)]
        for name in form:
            if name not in allowed:
                takes = ", ".join(allowed) or "no parameters"
                raise ValueError(f"{kind} takes {takes}, got {name!r}")
        for field in fields(found):
            if field.default is MISSING and field.default_factory is MISSING and field.name not in form:
                others = f", and takes {', '.join(allowed)}" if len(allowed) > 1 else ""
                raise ValueError(f"{kind} needs {field.name}{others}, got none")
        try:
            return found(**form)
        except TypeError:
            raise ValueError(f"{kind} takes {', '.join(allowed)}, got {form!r}") from None

    def _set(self, **values: Any) -> None:
        """Set checked parameters, and facts that follow from them; for ``__post_init__`` only."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(np.array_equal(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    def __hash__(self) -> int:
        return hash((type(self), *(tuple(np.ravel(getattr(self, field.name)).tolist()) for field in fields(self))))


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value
