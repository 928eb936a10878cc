#!/bin/sh
set -eu
if [ "${1:-}" = -n ]; then
	echo "docker compose up --build --detach"
	exit 0
fi
docker compose up --build --detach
