"""MP4 and PNG files from a recording."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from manikin.errors import OutputError
from manikin.export.film import Film, frames
from manikin.export.render import contact_sheet
from manikin.files import whole_file
from manikin.recording import Recording

Progress = Callable[[float], None]


def save_png(recording: Recording, path: Path) -> None:
    """A contact sheet: eight moments from the scene's camera and from the side."""
    from PIL import Image

    picture = Image.fromarray(contact_sheet(recording))
    with whole_file(path) as stream:
        picture.save(stream, format="PNG")


def save_mp4(recording: Recording, path: Path, progress: Progress | None = None, fps: float = 30.0) -> None:
    """A film, H.264, that plays everywhere."""
    import imageio_ffmpeg

    film = Film(fps, 960, 720)
    count = len(film.moments(recording))
    temporary = path.with_name(f".{path.stem}.part.mp4")
    writer = imageio_ffmpeg.write_frames(
        str(temporary), (film.width, film.height), fps=fps, quality=8, macro_block_size=8, ffmpeg_log_level="error"
    )
    writer.send(None)
    try:
        for k, frame in enumerate(frames(recording, film)):
            writer.send(np.ascontiguousarray(frame))
            if progress is not None:
                progress((k + 1) / count)
        writer.close()
        temporary.replace(path)
    except (OSError, RuntimeError) as error:
        raise OutputError(f"{path}: the film could not be written ({error})") from error
    finally:
        writer.close()
        temporary.unlink(missing_ok=True)
