"""The lay figure's parts as signed distances: the solids of each body, for the middle and the left side.

All lengths are in statures, in world axes standing (x forward, y left, z up): one set of numbers serves every height.
Each limb ends in a tilted, rounded plane near its joint, and a ball of darker wood about the joint centre pokes through
both ends. Such a joint cannot open: whatever the angle, the ball stays where it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manikin.characters.body_plan import girth, skeleton
from manikin.characters.sdf import Shape, ball, cone, ellipsoid, half_space, rounded_box

Array = NDArray[np.float64]

# Outside this range the forms no longer look like a person: limbs like sticks, or a trunk that hides the arms.
GIRTH_RANGE = (0.62, 1.9)

# Sizes of the joint balls for a girth of one [statures].
_SHOULDER, _ELBOW, _WRIST, _HIP, _KNEE, _ANKLE = 0.0350, 0.0225, 0.0152, 0.0470, 0.0310, 0.0195
_NECK = 0.0290

# Length of the hand [statures].
HAND = 0.104


@dataclass(frozen=True)
class Part:
    """One solid before meshing: the body it moves with, its material, and how many vertices it gets."""

    body: str
    material: str
    shape: Shape
    vertices: int
    oversampling: float = 2.4


@dataclass(frozen=True)
class Build:
    """Where the joints are [statures] and how thick everything is, as factors on a reference build."""

    joints: Mapping[str, Array]  # body name -> (3,)
    chest: float  # depth of the rib cage; its width is chest * chest_width
    chest_width: float
    bust: float  # how far down the chest its fullness lies, 0 to 1
    waist_depth: float
    waist_width: float
    pelvis: float
    pelvis_width: float
    neck: float
    arm: float
    wrist: float
    leg: float
    knee: float
    ankle: float


# Factors on (chest width, bust, waist, pelvis width, arm, neck). Joint centres are the same for all.
_PROPORTIONS: dict[str, tuple[float, float, float, float, float, float]] = {
    "neutral": (1.00, 0.00, 1.00, 1.00, 1.00, 1.00),
    "female": (0.93, 1.00, 0.92, 1.07, 0.92, 0.92),
    "male": (1.05, 0.00, 1.03, 0.96, 1.06, 1.06),
}


def build(height: float, mass: float, sex: str) -> Build:
    """Thickness of every part from stature [m], mass [kg] and sex; heavy people grow most about the waist."""
    chest_width, bust, waist, pelvis_width, arm, neck = _PROPORTIONS[sex]
    g = float(np.clip(girth(height, mass), *GIRTH_RANGE))
    return Build(
        joints={s.name: s.at / height for s in skeleton(height, mass)},
        chest=g**1.15,
        chest_width=chest_width,
        bust=bust,
        # A belly grows more forwards than sideways, where it would hide the forearms. A thin one follows the ribs.
        waist_depth=(g**1.8 if g > 1 else g**1.15) * waist,
        waist_width=(g**1.5 if g > 1 else g**1.15) * waist,
        pelvis=g**1.15,
        pelvis_width=pelvis_width,
        neck=g**0.4 * neck,
        arm=g**0.9 * arm,
        wrist=g**0.5 * arm**0.5,
        leg=g,
        knee=g**0.8,
        ankle=g**0.5,
    )


def parts(b: Build) -> tuple[Part, ...]:
    """Every part of the middle and of the left side."""
    return (*pelvis(b), *belly(b), *chest(b), *head(b), *shoulder(b), *arm(b), *hand(b), *leg(b), *foot(b))


def vec(x: float, y: float, z: float) -> Array:
    """A point or direction (3,)."""
    return np.array([x, y, z])


def _unit(v: Array) -> Array:
    return v / float(np.linalg.norm(v))


def pelvis(b: Build) -> list[Part]:
    """The pelvis: briefs between the two hip balls, with a flat top under the belly."""
    hip, t, w = b.joints["thigh_l"], b.pelvis, b.pelvis * b.pelvis_width
    out = hip[1] - 0.050
    shape = ellipsoid((-0.006, 0, 0.545), (0.060 * t, 0.080 * w, 0.046))
    shape = shape.join(cone((0.004, 0, 0.535), (-0.006, 0, 0.482), 0.044 * t, 0.021, (1.0, 0.95, 1.0)), 0.030)
    for side in (1.0, -1.0):
        buttock = ellipsoid((-0.030 * t, side * (0.036 + out), 0.514), (0.042 * t, 0.041 * w, 0.046))
        crest = ellipsoid((-0.006, side * (0.049 + out), 0.547), (0.050 * t, 0.035 * w, 0.036))
        shape = shape.join(buttock, 0.030).join(crest, 0.030)
    shape = shape.keep(half_space((0, 0, 0.582), (-0.10, 0, 1)), 0.014)
    for side in (1.0, -1.0):
        # the leg openings, where the hip balls show at the front and at the side
        opening = half_space(hip * (1, side, 1) + vec(0, side * 0.004, -0.006), (0.30, side * 0.88, -0.62))
        shape = shape.keep(opening, 0.018)
    return [Part("pelvis", "wood", shape, 850)]


def belly(b: Build) -> list[Part]:
    """The waist, and an egg about either spine joint, so that no rim lifts off when the trunk bends or twists."""
    low, high = b.joints["lumbar"], b.joints["thorax"]
    deep, wide = b.waist_depth, b.waist_width
    # a big belly bulges in the middle, not at the ends
    end_deep, end_wide = min(deep, deep**0.75), min(wide, wide**0.80)
    fold = 0.030 * max(1.0, wide)
    shape = ellipsoid(low + vec(0.002, 0, 0.004), (0.051 * end_deep, 0.068 * end_wide, 0.046))
    shape = shape.join(ellipsoid(high + vec(0.002, 0, -0.004), (0.051 * end_deep, 0.068 * end_wide, 0.048)), fold)
    middle = (low + high) / 2 + vec(0.005 * deep**1.5, 0, 0)
    waist = ellipsoid(middle, (0.0475 * deep, 0.0575 * wide, 0.055 * max(1.0, wide) ** 0.4))
    return [Part("lumbar", "belly", shape.join(waist, fold), 420)]


def chest(b: Build) -> list[Part]:
    """Rib cage, breast, shoulder blades and the bar across the shoulders, in one piece."""
    joint, d, w, full = b.joints["upper_arm_l"], b.chest, b.chest * b.chest_width, b.bust
    # a thin chest is also narrow; a heavy one grows without widening
    s = min(1.0, d)
    apart = s * b.chest_width
    shape = ellipsoid((-0.006, 0, 0.742), (0.063 * d, 0.085 * w, 0.098))
    end = joint[1] - 0.031
    shape = shape.join(cone((-0.012, -end, 0.806), (-0.012, end, 0.806), 0.033 * b.arm, 0.033 * b.arm), 0.050)
    collar = cone((-0.014, 0, 0.800), (-0.013, 0, 0.850), 0.050 * s, 0.0305 * b.neck)
    shape = shape.join(collar, 0.035 * s)
    for side in (1.0, -1.0):
        breast = ellipsoid(
            (0.033 * d + 0.004 * full, side * 0.040 * apart, 0.772 - 0.010 * full),
            (0.034 * d, 0.047 * w, 0.037),
        )
        blade = ellipsoid((-0.040 * d, side * 0.048 * apart, 0.775), (0.028 * d, 0.042 * w, 0.062))
        flank = ellipsoid((-0.008, side * 0.060 * apart, 0.745), (0.046 * d, 0.034 * w, 0.078))
        shape = shape.join(breast, 0.025 * s).join(blade, 0.030 * s).join(flank, 0.030 * s)
    # the hollows that distinguish front from back; that of the spine fades out between thin shoulder blades
    rib_arch = cone((0.080 * d, 0, 0.660), (0.066 * d, 0, 0.695), 0.036 * s, 0.012 * s, (1.0, 0.95, 1.0))
    thin = 0.024 * (1.0 - s)
    spine = cone((-0.078 * d, 0, 0.660), (-0.075 * d - thin, 0, 0.830), 0.010 * s, 0.008 * s)
    breastbone = cone((0.0775 * d, 0, 0.735), (0.068 * d, 0, 0.800), 0.010 * s, 0.008 * s)
    shape = shape.cut(rib_arch, 0.030 * s).cut(spine, 0.018 * s).cut(breastbone, 0.020 * s)
    shape = shape.keep(half_space((0, 0, 0.667), (-0.05, 0, -1)), 0.014)
    shape = shape.keep(half_space((0, 0, 0.851), (0.22, 0, 1)), 0.008)
    for side in (1.0, -1.0):
        # The armhole leans inwards towards the bottom, or the upper arm would intersect the ribs; more so in a narrow chest.
        lean = 0.22 - (b.chest_width - 1.0)
        armhole = half_space(joint * (1, side, 1) + vec(0, side * -0.014, 0), (0.10, side, -lean))
        shape = shape.keep(armhole, 0.014)
    return [Part("thorax", "wood", shape, 1100, 3.2)]


def head(b: Build) -> list[Part]:
    """Skull, jaw, nose, ears, dark beads for eyes, and the neck, which rotates with the head in the chest's collar."""
    joint, r = b.joints["head"], _NECK * b.neck
    neck = ball(joint + vec(0, 0, 0.003), r * 1.01).join(cone(joint, (-0.001, 0, 0.923), r, 0.0275 * b.neck), 0.010)
    shape = ellipsoid((-0.006, 0, 0.9465), (0.0545, 0.0440, 0.0535))
    shape = shape.join(cone((0.0135, 0, 0.938), (0.0285, 0, 0.8955), 0.0375, 0.0225, (1.0, 0.98, 1.0)), 0.035)
    shape = shape.join(cone((-0.004, -0.016, 0.918), (-0.004, 0.016, 0.918), 0.028, 0.028), 0.030)
    shape = shape.join(ellipsoid((0.0340, 0, 0.9120), (0.0175, 0.0200, 0.0170)), 0.020)
    shape = shape.join(cone((0.0480, 0, 0.9530), (0.0595, 0, 0.9295), 0.0056, 0.0076), 0.013)
    for side in (1.0, -1.0):
        lean = np.array([[1, 0, 0], [0, np.cos(0.12), side * np.sin(0.12)], [0, -side * np.sin(0.12), np.cos(0.12)]])
        ear = ellipsoid((-0.008, side * 0.0470, 0.9340), (0.0105, 0.0066, 0.0170), lean)
        socket = ellipsoid((0.0625, side * 0.0205, 0.9430), (0.0130, 0.0160, 0.0110))
        shape = shape.join(ear, 0.006).cut(socket, 0.022)
    shape = shape.keep(half_space((0, 0, 0.8795), (-0.30, 0, -1)), 0.012)

    # move back from in front of the face until the bead sits in the surface
    eye = vec(0.06, 0.0172, 0.9425)
    for _ in range(12):
        eye[0] -= float(shape.distance(eye[None])[0])
    eye[0] -= 0.0012
    eyes = [Part("head", "dark", ellipsoid(eye * (1, s, 1), (0.0040, 0.0042, 0.0057)), 60) for s in (1.0, -1.0)]
    return [Part("head", "belly", neck, 200), Part("head", "wood", shape, 1250, 3.6), *eyes]


def shoulder(b: Build) -> list[Part]:
    """A yoke just inside the chest's shoulder bar: it comes out, and fills the gap to the arm, when the shoulders move."""
    root, end = b.joints["clavicle_l"], b.joints["upper_arm_l"]
    shape = cone(root + vec(-0.008, 0.012, -0.012), end + vec(-0.002, -0.024, -0.006), 0.021, 0.0285 * b.arm)
    shape = shape.keep(half_space(end + vec(0, -0.0165, 0), (0.10, 1, -0.22)), 0.012)
    return [Part("clavicle_l", "wood", shape, 140)]


def arm(b: Build) -> list[Part]:
    """Upper arm and forearm, with the balls of the shoulder and the elbow."""
    top, elbow, wrist = b.joints["upper_arm_l"], b.joints["forearm_l"], b.joints["hand_l"]
    g, ball_top, ball_elbow, ball_wrist = b.arm, _SHOULDER * b.arm, _ELBOW * b.arm, _WRIST * b.wrist

    along = elbow - top
    u = _unit(along)
    upper = cone(top + along * 0.10, top + along * 0.92, 0.0315 * g, 0.0235 * g)
    upper = upper.join(ellipsoid(top + along * 0.42 + vec(0.006, 0, 0), (0.0270 * g, 0.0265 * g, 0.056)), 0.020)
    upper = upper.join(ellipsoid(top + along * 0.48 + vec(-0.007, 0.002, 0), (0.025 * g, 0.025 * g, 0.055)), 0.020)
    upper = upper.keep(half_space(top + u * 0.386 * ball_top, -u), 0.010)
    # open to the front, where the elbow closes
    upper = upper.keep(half_space(elbow - u * 0.40 * ball_elbow, u + vec(0.55, 0, 0)), 0.009)

    along = wrist - elbow
    u = _unit(along)
    fore = cone(elbow + along * 0.04, elbow + along * 0.98, 0.0238 * g, 0.0152 * b.wrist)
    fore = fore.join(ellipsoid(elbow + along * 0.30 + vec(0.002, 0.004, 0), (0.0270 * g, 0.0275 * g, 0.044)), 0.020)
    fore = fore.keep(half_space(elbow + u * 0.38 * ball_elbow, -u + vec(0.30, 0, 0)), 0.008)
    fore = fore.keep(half_space(wrist - u * 0.49 * ball_wrist, u), 0.009)
    return [
        Part("upper_arm_l", "joint", ball(top, ball_top), 140),
        Part("upper_arm_l", "wood", upper, 420),
        Part("forearm_l", "joint", ball(elbow, ball_elbow), 100),
        Part("forearm_l", "wood", fore, 420),
    ]


# Left hand about the wrist: fingers down, palm facing -y, thumb forward; unit: the hand's length.
# Per finger, index to little: knuckle, lengths of the three bones, spread [rad], flexion of the three joints [deg].
_FINGERS = (
    ((0.270, 0.012, -0.470), (0.225, 0.135, 0.100), 0.10, (4, 6, 5), (0.078, 0.069, 0.061, 0.051)),
    ((0.090, 0.022, -0.500), (0.250, 0.155, 0.105), 0.02, (5, 6, 5), (0.080, 0.071, 0.062, 0.052)),
    ((-0.090, 0.018, -0.480), (0.235, 0.145, 0.100), -0.06, (5, 7, 5), (0.077, 0.068, 0.060, 0.050)),
    ((-0.250, 0.005, -0.430), (0.180, 0.110, 0.090), -0.15, (6, 8, 6), (0.069, 0.060, 0.053, 0.046)),
)
_THUMB = ((0.170, -0.030, -0.120), (0.365, -0.050, -0.290), (0.460, -0.060, -0.455), (0.500, -0.062, -0.590))
_THUMB_RADII = (0.092, 0.077, 0.068, 0.056)


def _chain(points: list[Array], radii: tuple[float, ...]) -> Shape:
    """Round cones from point to point."""
    shape = cone(points[0], points[1], radii[0], radii[1])
    for i in range(1, len(points) - 1):
        shape = shape.join(cone(points[i], points[i + 1], radii[i], radii[i + 1]), 0.008)
    return shape


def open_hand() -> Shape:
    """The left hand about its wrist, open and all but flat, so that it fits a box; unit: the hand's length.

    A hand with fingers of its own takes this shape's place: it attaches at the same wrist ball, `Part` by `Part`.
    """
    shape = cone((0.0, 0, -0.08), (0.015, 0, -0.40), 0.125, 0.205, (1.10, 0.52, 1.0))
    shape = shape.join(cone((0.15, 0, -0.25), (0.25, 0, -0.43), 0.080, 0.085, (1.0, 0.85, 1.0)), 0.08)
    shape = shape.join(cone((-0.13, -0.01, -0.20), (-0.22, 0, -0.39), 0.085, 0.080, (1.0, 0.95, 1.0)), 0.08)
    shape = shape.join(ellipsoid((0.13, -0.045, -0.20), (0.11, 0.075, 0.16)), 0.10)
    shape = shape.join(_chain([np.array(p) for p in _THUMB], _THUMB_RADII), 0.10)
    for knuckle, lengths, spread, flexions, radii in _FINGERS:
        points, bent = [np.array(knuckle)], 0.0
        for length, flexion in zip(lengths, flexions, strict=True):
            bent += float(np.deg2rad(flexion))
            bone = vec(np.sin(spread) * np.cos(bent), -np.sin(bent), -np.cos(bent) * np.cos(spread))
            points.append(points[-1] + length * _unit(bone))
        shape = shape.join(_chain(points, radii), 0.03)
    return shape


def hand(b: Build) -> list[Part]:
    """The wrist's ball and the hand, of one size for all masses."""
    wrist, r = b.joints["hand_l"], _WRIST * b.wrist
    unit = open_hand()
    shape = Shape(lambda p: HAND * unit.distance(p / HAND), HAND * unit.low, HAND * unit.high)
    shape = shape.keep(half_space((0, 0, -0.49 * r), (0, 0, 1)), 0.006).moved(wrist)
    return [Part("hand_l", "joint", ball(wrist, r), 80), Part("hand_l", "wood", shape, 1150, 4.0)]


def leg(b: Build) -> list[Part]:
    """Thigh and shank with the balls of the hip and the knee, and the kneecap."""
    hip, knee, ankle = b.joints["thigh_l"], b.joints["shank_l"], b.joints["foot_l"]
    g, ball_hip, ball_knee, ball_ankle = b.leg, _HIP * b.leg, _KNEE * b.knee, _ANKLE * b.ankle

    along = knee - hip
    u = _unit(along)
    thigh = cone(hip + along * 0.12, hip + along * 0.94, 0.0485 * g, 0.0325 * b.knee)
    thigh = thigh.join(ellipsoid(hip + along * 0.42 + vec(0.012, 0.002, 0), (0.040 * g, 0.042 * g, 0.085)), 0.020)
    thigh = thigh.join(ellipsoid(hip + along * 0.36 + vec(-0.012, -0.003, 0), (0.040 * g, 0.040 * g, 0.080)), 0.020)
    thigh = thigh.join(ellipsoid(hip + along * 0.82 + vec(0.006, -0.007, 0), (0.030 * g, 0.028 * g, 0.034)), 0.020)
    thigh = thigh.keep(half_space(hip + u * 0.47 * ball_hip, -u + vec(0.15, -0.28, 0)), 0.014)
    # open to the back, where the knee closes
    thigh = thigh.keep(half_space(knee - u * 0.32 * ball_knee, u + vec(-0.62, 0, 0)), 0.012)

    along = ankle - knee
    u = _unit(along)
    shank = cone(knee + along * 0.03, knee + along * 0.99, 0.0318 * g**0.9, 0.0190 * b.ankle)
    shank = shank.join(ellipsoid(knee + along * 0.30 + vec(-0.013, -0.003, 0), (0.029 * g, 0.031 * g, 0.062)), 0.020)
    shank = shank.join(ellipsoid(knee + along * 0.30 + vec(0.006, 0.006, 0), (0.022 * g, 0.024 * g, 0.070)), 0.020)
    shank = shank.keep(half_space(knee + u * 0.42 * ball_knee, -u + vec(-0.30, 0, 0)), 0.011)
    shank = shank.keep(half_space(ankle - u * 0.51 * ball_ankle, u), 0.008)

    above, below = knee + vec(0.46 * ball_knee, -0.001, 0.010), knee + vec(0.40 * ball_knee, -0.001, -0.016)
    kneecap = cone(above, below, 0.0205 * b.knee, 0.0180 * b.knee, (1.0, 1.02, 1.0))
    return [
        Part("thigh_l", "joint", ball(hip, ball_hip), 180),
        Part("thigh_l", "wood", thigh, 540),
        Part("shank_l", "joint", ball(knee, ball_knee), 130),
        Part("shank_l", "wood", shank, 480),
        Part("shank_l", "wood", kneecap, 110),
    ]


def foot(b: Build) -> list[Part]:
    """Ankle ball, foot and toes, flat on the ground; the toes rotate about a roller across the ball of the foot."""
    ankle, r = b.joints["foot_l"], _ANKLE * b.ankle
    y = float(ankle[1])
    ground = half_space((0, 0, 0), (0, 0, -1))

    heel = cone((-0.029, y, 0.021), (-0.022, y, 0.026), 0.0205, 0.0215, (1.0, 0.95, 1.0))
    instep = cone(ankle + vec(0.004, 0, -0.006), (0.052, y + 0.002, 0.017), 0.0225, 0.0150, (1.0, 1.15, 1.0))
    inner = cone((0.060, y - 0.011, 0.0135), (0.070, y - 0.012, 0.0135), 0.0140, 0.0135)
    outer = cone((0.044, y + 0.016, 0.0120), (0.060, y + 0.018, 0.0115), 0.0120, 0.0115)
    edge = cone((-0.010, y + 0.010, 0.013), (0.050, y + 0.016, 0.012), 0.013, 0.012)
    shape = heel.join(instep, 0.020).join(inner, 0.020).join(outer, 0.020).join(edge, 0.020)
    shape = shape.cut(rounded_box((0.020, y - 0.030, -0.004), (0.034, 0.018, 0.014), 0.010), 0.014)
    shape = shape.keep(ground, 0.006).keep(half_space(ankle + vec(0, 0, 0.31 * r), (-0.15, 0, 1)), 0.009)
    shape = shape.keep(half_space((0.062, y, 0), (1, 0.20, 0)), 0.016)

    # big toe to little: start (x, y), length, radius
    toes = cone((0.0665, y - 0.0150, 0.0122), (0.0590, y + 0.0205, 0.0112), 0.0118, 0.0106)
    for x, across, length, thick in (
        (0.066, -0.0150, 0.0360, 0.0112),
        (0.066, -0.0015, 0.0310, 0.0078),
        (0.064, 0.0072, 0.0265, 0.0074),
        (0.061, 0.0150, 0.0225, 0.0070),
        (0.058, 0.0222, 0.0180, 0.0068),
    ):
        tip = (x + length - thick, y + 1.06 * across + 0.001, 0.90 * thick)
        toes = toes.join(cone((x, y + across, 0.0118), tip, 1.10 * thick, thick), 0.004)
    return [
        Part("foot_l", "joint", ball(ankle, r), 90),
        Part("foot_l", "wood", shape, 480, 2.8),
        Part("toes_l", "wood", toes.keep(ground, 0.006), 450, 3.0),
    ]
