# docker build -t recx . && docker run --rm -v "$PWD:/work" recx +experiment=news
# docs/site is packed with it if `make docs` has built it before.
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml constraints.txt LICENSE ./
COPY recx recx
COPY conf conf
COPY docs docs
COPY examples/project examples/project
COPY plugins/recx-template plugins/recx-template
RUN python -m venv /opt/recx \
    && /opt/recx/bin/python -m pip install --no-cache-dir -c constraints.txt '.[sweep]'

FROM python:3.12-slim
COPY --from=build /opt/recx /opt/recx
RUN useradd --create-home --uid 1000 recx && install -d -o recx -g recx /work
ENV PATH=/opt/recx/bin:$PATH PYTHONUNBUFFERED=1
USER recx
WORKDIR /work
ENTRYPOINT ["python", "-m", "recx"]
CMD ["--help"]
