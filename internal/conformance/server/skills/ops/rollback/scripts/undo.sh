#!/bin/sh
echo "release $1 is undone"
