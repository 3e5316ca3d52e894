"""What sets a setting, as the annotation of its field: the name of a flag or variable, by what it has an effect on."""


class Decides(str):
    """The flag or variable of a setting that decides on plans. Its text is published."""

    __slots__ = ()


class Admits(str):
    """The flag of a setting that lets less or more of a plan through."""

    __slots__ = ()


class Reads(str):
    """The flag of a setting that decides on nothing but what is read."""

    __slots__ = ()
