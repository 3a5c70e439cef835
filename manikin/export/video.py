"""MP4 and PNG files from a recording."""

import signal
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from manikin.errors import OutputError
from manikin.export.film import Film, frames
from manikin.export.render import contact_sheet
from manikin.files import whole_file
from manikin.recording import Recording

Progress = Callable[[float], None]

# quality of the H.264 encoder: 0 is lossless, 51 the worst
CRF = 10


def save_png(recording: Recording, path: Path) -> None:
    """A contact sheet: eight moments from the scene's camera and from the side."""
    from PIL import Image

    picture = Image.fromarray(contact_sheet(recording))
    with whole_file(path) as stream:
        picture.save(stream, format="PNG")


def save_mp4(recording: Recording, path: Path, progress: Progress | None = None, fps: float = 30.0) -> None:
    """A film, H.264, that plays everywhere."""
    film = Film(fps, 960, 720)
    count = len(film.moments(recording))
    temporary = path.with_name(f".{path.stem}.part.mp4")
    try:
        with tempfile.TemporaryFile("w+", errors="replace") as complaints:
            encoder = _start_encoder(film, temporary, complaints)
            try:
                assert encoder.stdin is not None
                with closing(frames(recording, film)) as pictures:
                    for k, frame in enumerate(pictures):
                        encoder.stdin.write(frame.tobytes())
                        if progress is not None:
                            progress((k + 1) / count)
                encoder.stdin.close()
                code = encoder.wait()
            except BrokenPipeError:
                # the encoder failed: the reason is in its error output
                code = encoder.wait()
            finally:
                _end(encoder)
            if code:
                complaints.seek(0)
                raise OutputError(f"{path}: the film could not be written ({_reason(complaints.read(), code)})")
        temporary.replace(path)
    except (OSError, RuntimeError) as error:
        raise OutputError(f"{path}: the film could not be written ({error})") from error
    finally:
        temporary.unlink(missing_ok=True)


def _start_encoder(film: Film, path: Path, complaints: Any) -> "subprocess.Popen[bytes]":
    """ffmpeg, reading raw frames. It has a session of its own, so that Ctrl-C reaches only whoever feeds it."""
    import imageio_ffmpeg

    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{film.width}x{film.height}", "-r", str(film.fps), "-i", "-"]
    encoded = ["-an", "-vcodec", "libx264", "-pix_fmt", "yuv420p", "-crf", str(CRF), "-v", "error", str(path)]
    return subprocess.Popen(
        [imageio_ffmpeg.get_ffmpeg_exe(), "-y", *raw, *encoded],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=complaints, start_new_session=True,
    )  # fmt: skip


def _end(encoder: "subprocess.Popen[bytes]") -> None:
    if encoder.poll() is None:
        encoder.kill()
    encoder.wait()
    assert encoder.stdin is not None
    # what is left of a frame that nobody reads
    with suppress(OSError):
        encoder.stdin.close()


def _reason(complaints: str, code: int) -> str:
    """Why the encoder failed: the system's error, or its last message."""
    lines = [line.strip() for line in complaints.splitlines() if line.strip()]
    known = [line for line in lines if any(word in line for word in ("No space left", "too large", "denied", "quota"))]
    if known:
        return known[-1].rpartition(": ")[2] or known[-1]
    if code < 0:
        return signal.strsignal(-code) or f"the encoder was ended by signal {-code}"
    return lines[-1] if lines else f"the encoder ended with {code}"
