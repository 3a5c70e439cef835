"""Where the pressure under a bone may lie: inside the hull of its contact points; otherwise it tips over an edge."""

import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

# points this near [m] to a line lie on it
ALIGNED = 1e-4


@kernel
def pressure_rows(points: Array, planar: bool) -> Array:
    """Rows (m, 3 k) on forces at points (k, 3): their sum upward, then their moments about the edges of the points' hull seen
    from above. As long as all are positive the pressure lies inside the hull, and nothing tips. planar: along x alone.

    One point has no edge; points on a line have two, across its ends.
    """
    k = points.shape[0]
    x, y = points[:, 0].copy(), points[:, 1].copy()
    if planar:
        y[:] = 0.0
    corners, count = _hull(x, y)
    # an edge: a point of it, and its direction (ex, ey, ez) with the hull on the left
    lines = np.empty((max(count, 2), 3))
    which = np.empty(max(count, 2), np.int64)
    found = 0
    if count == 2:
        a, b = corners[0], corners[1]
        ex, ey = y[b] - y[a], -(x[b] - x[a])
        which[0], which[1], found = a, b, 2
        lines[0, 0], lines[0, 1], lines[0, 2] = ex, ey, 0.0
        lines[1, 0], lines[1, 1], lines[1, 2] = -ex, -ey, 0.0
    elif count > 2:
        found = count
        for c in range(count):
            a, b = corners[c], corners[(c + 1) % count]
            which[c] = a
            for j in range(3):
                lines[c, j] = points[b, j] - points[a, j]
    out = np.zeros((1 + found, 3 * k))
    for i in range(k):
        out[0, 3 * i + 2] = 1.0
    for c in range(found):
        a, d = which[c], lines[c] / np.sqrt((lines[c] ** 2).sum())
        for i in range(k):
            r = points[i] - points[a]
            if planar:
                r[1] = 0.0
            # d . (r x f) = f . (d x r)
            out[1 + c, 3 * i] = d[1] * r[2] - d[2] * r[1]
            out[1 + c, 3 * i + 1] = d[2] * r[0] - d[0] * r[2]
            out[1 + c, 3 * i + 2] = d[0] * r[1] - d[1] * r[0]
    return out


@kernel
def _hull(x: Array, y: Array) -> tuple[Ints, int]:
    """Corners of the convex hull of a handful of points, counter-clockwise, and how many: 1 if all coincide, 2 on a line."""
    k = x.shape[0]
    start, far = 0, 0
    for i in range(1, k):
        if x[i] < x[start] or (x[i] == x[start] and y[i] < y[start]):
            start = i
    for i in range(k):
        if (x[i] - x[start]) ** 2 + (y[i] - y[start]) ** 2 > (x[far] - x[start]) ** 2 + (y[far] - y[start]) ** 2:
            far = i
    corners = np.empty(k + 1, np.int64)
    corners[0] = start
    length = np.sqrt((x[far] - x[start]) ** 2 + (y[far] - y[start]) ** 2)
    if length < ALIGNED:
        return corners, 1
    widest = 0.0
    for i in range(k):
        across = (x[far] - x[start]) * (y[i] - y[start]) - (y[far] - y[start]) * (x[i] - x[start])
        widest = max(widest, abs(across) / length)
    if widest < ALIGNED:
        corners[1] = far
        return corners, 2
    count, here = 1, start
    while count <= k:
        # the next corner has everything on its left
        best = -1
        for i in range(k):
            if (x[i] - x[here]) ** 2 + (y[i] - y[here]) ** 2 < ALIGNED**2:
                continue
            if best < 0:
                best = i
                continue
            cross = (x[best] - x[here]) * (y[i] - y[here]) - (y[best] - y[here]) * (x[i] - x[here])
            near = (x[best] - x[here]) ** 2 + (y[best] - y[here]) ** 2 < (x[i] - x[here]) ** 2 + (y[i] - y[here]) ** 2
            if cross < 0 or (cross == 0 and near):
                best = i
        if (x[best] - x[start]) ** 2 + (y[best] - y[start]) ** 2 < ALIGNED**2:
            break
        corners[count] = best
        count += 1
        here = best
    return corners, min(count, k)
