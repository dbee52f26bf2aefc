#!/bin/sh
# Install Debian's Chromium, fonts for English and Chinese, and pngquant: for the tests and pictures of the web view.
set -eu
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    echo "The web view is tested in Chromium, which is not installed: install the package chromium and run this again." >&2
    exit 1
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    chromium pngquant fonts-inter fonts-jetbrains-mono fonts-noto-cjk >/dev/null
