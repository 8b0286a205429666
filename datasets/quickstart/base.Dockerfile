# What the images of this data set share: git, Python and pytest, on any base with Python and pip (apt only if git lacks).
ARG BASE=python:3.11-slim
FROM ${BASE}
RUN command -v git > /dev/null \
 || (apt-get update -q && apt-get install -qy --no-install-recommends git && rm -rf /var/lib/apt/lists/*)
RUN PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore python3 -m pip install -q --no-cache-dir pytest==8.4.2
