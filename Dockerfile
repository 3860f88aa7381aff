# A static program on an empty image, run by a user without rights. Mount plugins at /plugins:
#   docker build -t starhost . && docker run --rm -v "$PWD/plugins:/plugins:ro" starhost list
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /starhost ./cmd/starhost

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /starhost /starhost
USER 65534:65534
ENV XDG_STATE_HOME=/tmp XDG_DATA_HOME=/tmp STARHOST_CACHE=off
WORKDIR /
ENTRYPOINT ["/starhost"]
CMD ["list"]
