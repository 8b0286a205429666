# What the tasks of this data set share: bash, git and Python (apt only where the base lacks them).
ARG BASE=python:3.11-slim
FROM ${BASE}
RUN command -v git > /dev/null \
 || (apt-get update -q && apt-get install -qy --no-install-recommends git && rm -rf /var/lib/apt/lists/*)
RUN useradd --create-home dev
