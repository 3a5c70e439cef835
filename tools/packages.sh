#!/bin/sh
# Debian packages for drawing pictures without a display, and with "test" a browser for the tests of the studio's page.
# Installed if we are root or may use sudo without a password; otherwise their names are printed.
missing=""
for library in libEGL.so.1:libegl1 libGL.so.1:libgl1-mesa-dri; do
    ldconfig -p 2>/dev/null | grep -q "${library%%:*}" || missing="$missing ${library##*:}"
done
[ -e /usr/lib/x86_64-linux-gnu/dri/swrast_dri.so ] || [ -e /usr/lib/aarch64-linux-gnu/dri/swrast_dri.so ] ||
    ls /usr/lib/*/libgallium-*.so >/dev/null 2>&1 || case "$missing" in *mesa-dri*) ;; *) missing="$missing libgl1-mesa-dri" ;; esac
[ -z "$missing" ] || missing="$missing libegl-mesa0"
[ "$1" != test ] || command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
[ -z "$missing" ] && exit 0
without="without them no pictures can be drawn, and the tests that need them are skipped"
command -v apt-get >/dev/null 2>&1 || { echo "Missing:$missing ($without)"; exit 0; }
if [ "$(id -u)" = 0 ]; then run=""; elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then run="sudo"; else
    echo "Missing: sudo apt-get install$missing ($without)"
    exit 0
fi
echo "Installing$missing"
$run apt-get update -qq && $run apt-get install -y -qq --no-install-recommends $missing >/dev/null || echo "Could not install$missing: $without"
exit 0
