"""Where pictures look from: the characters are on them, wherever they go."""

import tomllib
from dataclasses import replace

import numpy as np
import pytest
import tomli_w

import manikin as mk
from manikin.export.framing import EDGE, FILL, ROOM, View, across, fitted, framed, in_view, keep_in_view, within_reach
from manikin.export.render import Painter, contact_sheet, view_of

CUBE = np.array([[x, y, z] for x in (-0.2, 0.2) for y in (-0.2, 0.2) for z in (0.0, 0.4)])
FOVY, ASPECT = 32.0, 1.5


def moved(x: float, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    return CUBE + np.array([x, y, z])


def test_a_view_from_the_front_puts_the_characters_left_to_the_right() -> None:
    # azimuth 0 looks at the face: forward is the camera's depth, the character's left (y) is on the right of the picture
    view = View(0.0, 0.0, 2.0, (0.0, 0.0, 1.0))
    half = np.tan(np.deg2rad(FOVY) / 2)
    points = np.array([[0.0, 0.0, 1.0], [0.0, 2 * half, 1.0], [0.0, 0.0, 1.0 + 2 * half], [1.0, 0.5 * half, 1.0]])
    assert across(points, view, FOVY, 1.0) == pytest.approx(np.array([[0, 0], [1, 0], [0, 1], [0.5, 0]]), abs=1e-12)
    # a wide picture holds more at its sides; what is behind the camera is not in it
    assert across(points, view, FOVY, 2.0)[1] == pytest.approx([0.5, 0])
    assert not in_view([np.array([[3.0, 0.0, 1.0]])], [view], FOVY, 1.0)


def test_a_camera_stays_while_everyone_is_in_the_picture() -> None:
    view = View(38.0, -9.0, 3.0, (0.0, 0.0, 0.3))
    assert keep_in_view([moved(0), moved(0.2), moved(0.0, 0.2)], view, FOVY, ASPECT) == [view] * 3
    # no character at all, and no moment at all
    assert keep_in_view([np.zeros((0, 3))], view, FOVY, ASPECT) == [view]
    assert keep_in_view([], view, FOVY, ASPECT) == []


@pytest.mark.parametrize("azimuth", [0.0, 38.0, 90.0, 300.0])
def test_a_camera_goes_along_with_whoever_leaves_the_picture(azimuth: float) -> None:
    view = View(azimuth, -9.0, 3.0, (0.0, 0.0, 0.3))
    way = [moved(2.0 * k, 1.5 * k, 0.3 * (k % 2)) for k in range(5)]
    views = keep_in_view(way, view, FOVY, ASPECT)
    assert in_view(way, views, FOVY, ASPECT, ROOM + 1e-9)
    # it looks from the same side, and neither rises nor falls with them
    assert {(v.azimuth, v.elevation, v.distance, v.at[2]) for v in views} == {
        (azimuth, -9.0, views[0].distance, views[0].at[2])
    }
    assert [v.at[:2] for v in views] == [pytest.approx((2.0 * k, 1.5 * k)) for k in range(5)]


def test_a_film_goes_along_smoothly() -> None:
    view = View(90.0, -9.0, 3.0, (0.0, 0.0, 0.3))
    # still, then a dash, then still
    way = [moved(float(np.clip(0.1 * (k - 40), 0.0, 3.0))) for k in range(120)]
    rough, calm = (np.array([v.at[0] for v in keep_in_view(way, view, FOVY, ASPECT, c)]) for c in (0.0, 8.0))
    assert np.abs(np.diff(calm, 2)).max() < 0.2 * np.abs(np.diff(rough, 2)).max()
    assert in_view(way, keep_in_view(way, view, FOVY, ASPECT, 8.0), FOVY, ASPECT, ROOM + 1e-9)


@pytest.mark.parametrize("aspect", [0.7, 1.5])
@pytest.mark.parametrize("azimuth", [0.0, 38.0, 250.0])
def test_a_view_is_as_near_as_shows_everything(azimuth: float, aspect: float) -> None:
    for size in (0.5, 1.0, 5.0):
        points = size * moved(1.0, -2.0, 0.5)
        view = fitted(points, View(azimuth, -20.0), FOVY, aspect)
        assert view.at == pytest.approx(size * np.array([1.0, -2.0, 0.7]))
        assert np.abs(across(points, view, FOVY, aspect)).max() == pytest.approx(FILL)


def test_a_camera_stays_for_a_step_and_follows_a_walk() -> None:
    step, walk = ([moved(x) for x in np.linspace(0, way, 9)] for way in (0.5, 20.0))
    still = framed(step, View(), FOVY, ASPECT)
    assert in_view(step, [still] * 9, FOVY, ASPECT, FILL + 1e-9)
    near = framed(walk, View(), FOVY, ASPECT)
    # as near as to one that does not move, and the camera has to follow
    assert near.distance == pytest.approx(fitted(CUBE, View(), FOVY, ASPECT).distance, rel=1e-6)
    assert not in_view(walk, [near] * 9, FOVY, ASPECT)
    assert in_view(walk, keep_in_view(walk, near, FOVY, ASPECT), FOVY, ASPECT, ROOM + 1e-9)
    # nothing to see
    assert framed([np.zeros((0, 3))], View(), FOVY, ASPECT) == View()


def test_props_count_when_they_are_near() -> None:
    table = np.array([[0.5, 0.0, 0.2], [40.0, 0.0, 0.2], [0.0, 0.0, -90.0]])
    assert within_reach(CUBE, table).tolist() == [[0.5, 0.0, 0.2]]
    assert within_reach(np.zeros((0, 3)), table).tolist() == table.tolist()


def with_camera(recording: mk.Recording, **camera: object) -> mk.Recording:
    scene = tomllib.loads(recording.meta["scene"]) | {"camera": camera}
    return replace(recording, meta=recording.meta | {"scene": tomli_w.dumps(scene)})


@pytest.mark.draws
def test_a_lamp_without_a_camera_of_its_own_fills_the_picture() -> None:
    recording = mk.run(mk.load_scene("lamp"), seconds=0.1).recording
    # a scene's own camera is kept
    own = view_of(recording)
    assert (own.azimuth, own.distance, own.at) == (62.0, 1.75, (0.12, 0.0, 0.24))
    for aspect in (4 / 3, 300 / 420):
        view = view_of(with_camera(recording), aspect)
        assert (view.azimuth, view.elevation) == (38.0, -9.0)
        with Painter(recording, 96, 72) as painter:
            seen = np.abs(across(painter._outline(0), view, 32.0, aspect)).max()
        assert 0.5 < seen <= FILL + 1e-9
    # half a camera: the rest fits
    half = view_of(with_camera(recording, azimuth=10.0, distance=9.0))
    assert (half.azimuth, half.distance) == (10.0, 9.0)
    assert half.at == view_of(with_camera(recording, azimuth=10.0)).at


@pytest.mark.draws
def test_the_floor_around_a_human_has_no_stray_shadows() -> None:
    recording = mk.run(mk.load_scene("lift"), seconds=0.02).recording
    with Painter(recording, 480, 360) as painter:
        picture = painter.draw(0, view_of(recording)).astype(int)
    # the floor before the figure, to the right of the box
    assert np.ptp(picture[330:, 280:].sum(axis=2)) < 20


@pytest.mark.draws
def test_the_outline_is_where_the_character_is_drawn() -> None:
    # the lamp is green, floor and sky are warm and grey
    recording = mk.run(mk.load_scene("lamp"), seconds=0.1).recording
    view = replace(view_of(recording), at=(0.1, 0.05, 0.3))
    with Painter(recording, 240, 160) as painter:
        points = across(painter._outline(0), view, float(painter.model.vis.global_.fovy), 1.5)
        picture = painter.draw(0, view).astype(int)
    rows, columns = np.nonzero(picture[..., 1] - picture[..., 0] > 15)
    left, right = columns.min() / 120 - 1, columns.max() / 120 - 1
    top = 1 - rows.min() / 80
    # boxes stand a little over what they hold
    assert points[:, 0].min() == pytest.approx(left, abs=0.06)
    assert points[:, 0].max() == pytest.approx(right, abs=0.06)
    assert points[:, 1].max() == pytest.approx(top, abs=0.08)


@pytest.mark.draws
def test_a_sheet_shows_a_character_that_travels() -> None:
    """The scene's camera sees the whole way in a wide picture; a tall cell would miss both ends of it."""
    take = mk.run(mk.load_scene("donut"))
    recording, view = take.recording, view_of(take.recording)
    frames = [0, len(recording.time) // 2, len(recording.time) - 1]
    with Painter(recording, 75, 105) as painter:
        outlines = [painter._outline(f) for f in frames]
        assert not in_view(outlines, [view] * 3, 32.0, 75 / 105, EDGE)
    sheet = contact_sheet(recording, count=3, width=75, height=105, sides=False).astype(int)
    pink = (sheet[..., 0] - sheet[..., 1] > 50).reshape(105, 3, 75)
    for cell in range(3):
        columns = np.flatnonzero(pink[:, cell].any(axis=0))
        assert columns.min() > 3
        assert columns.max() < 71
        assert pink[:, cell].mean() > 0.05
