"""Which of what a program can do it was asked for."""


def chosen(parser, asked, known):
    """The names asked for, all known ones without any; an error that lists them when one is none of them."""
    unknown = [name for name in asked if name not in known]
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(known)}")
    return list(asked or known)
