"""One palette for renders, contact sheets, the page and the documentation (sRGB, 0-1)."""

Colour = tuple[float, float, float]

MATERIALS: dict[str, Colour] = {
    "wood": (0.87, 0.66, 0.44),
    "belly": (0.79, 0.58, 0.375),
    "joint": (0.62, 0.42, 0.265),
    "dark": (0.12, 0.08, 0.06),
    "prop": (0.36, 0.47, 0.55),
    "floor": (0.86, 0.83, 0.79),
    # the lamp
    "enamel": (0.24, 0.43, 0.42),
    "brass": (0.78, 0.62, 0.36),
    "bulb": (1.0, 0.95, 0.78),
    "shade": (0.95, 0.92, 0.85),
    # soft characters
    "rose": (0.83, 0.53, 0.49),
    "sea": (0.37, 0.58, 0.62),
    "coral": (0.80, 0.39, 0.34),
    "dough": (0.85, 0.64, 0.40),
    "icing": (0.91, 0.62, 0.66),
    "white": (0.95, 0.93, 0.89),
}
# fraction of light that a material emits
GLOW: dict[str, float] = {"bulb": 0.75, "shade": 0.3}
# the material of cases, and its opacity
GLASS: Colour = (0.62, 0.78, 0.80)
GLASS_OPACITY = 0.28
SKY: tuple[Colour, Colour] = ((0.90, 0.88, 0.85), (0.80, 0.775, 0.745))
HAZE: Colour = (0.86, 0.84, 0.81)

# colours with the same meaning everywhere
FORCE: Colour = (0.93, 0.49, 0.13)
GOAL: Colour = (0.20, 0.45, 0.85)
CONTACT: Colour = (0.95, 0.80, 0.20)


def linear(colour: Colour) -> Colour:
    """sRGB to linear light, as glTF requires."""
    r, g, b = (((c + 0.055) / 1.055) ** 2.4 if c > 0.04045 else c / 12.92 for c in colour)
    return (r, g, b)
