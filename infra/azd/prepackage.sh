#!/bin/sh
# Makes what azd packs: the dashboard, which is part of the pipeline's package, and the receiver's package as a folder.
set -eu
make web
python3 -m tools.function_zip --app receiver
rm -rf dist/receiver-app
python3 -m zipfile -e dist/receiver-app.zip dist/receiver-app
