# A static program on an empty image, run by a user without rights. Mount plugins at /plugins:
#   docker build -t starhost . && docker run --rm -v "$PWD/plugins:/plugins:ro" starhost list
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /starhost ./cmd/starhost
RUN mkdir /empty

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /starhost /starhost
# For sessions, the decision log and tests. Mount a volume here if they are to outlive the container.
COPY --from=build --chown=65534:65534 /empty /tmp
USER 65534:65534
ENV XDG_STATE_HOME=/tmp XDG_DATA_HOME=/tmp
WORKDIR /
ENTRYPOINT ["/starhost"]
CMD ["list"]
