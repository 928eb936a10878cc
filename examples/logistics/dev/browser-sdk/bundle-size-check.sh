#!/bin/sh
# Fails when the built bundle, compressed, is larger than 50 KB.
set -eu
bundle=${1:-dist/client.js}
limit=51200
if [ ! -f "$bundle" ]; then
	echo "$bundle is not there: build it first" >&2
	exit 1
fi
size=$(gzip -c "$bundle" | wc -c)
if [ "$size" -gt "$limit" ]; then
	echo "$bundle: $size bytes compressed, the limit is $limit" >&2
	exit 1
fi
