# The image of `bentoml containerize` with torch, for NVIDIA GPUs; docs/operating.md says how to run
# it. On Linux the index has torch with the CUDA libraries, which come with it: the host brings the
# driver and NVIDIA's container toolkit.
ARG TRIAD_IMAGE=triad:latest
FROM ${TRIAD_IMAGE}
USER root
RUN uv pip install --no-cache -c src/constraints.txt safetensors torch transformers
USER bentoml
