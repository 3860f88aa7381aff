// Command col is an OpenTelemetry collector that writes the records to the file SINK before it answers. Build it
// with "go mod tidy && go build"; STARHOST_COLLECTOR names it for the tests.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/filelogreceiver"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

type sink struct {
	component.StartFunc
	component.ShutdownFunc
	mu   sync.Mutex
	file *os.File
}

func (s *sink) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (s *sink) ConsumeLogs(_ context.Context, ld plog.Logs) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []byte
	for _, r := range ld.ResourceLogs().All() {
		for _, sl := range r.ScopeLogs().All() {
			for _, l := range sl.LogRecords().All() {
				uid, _ := l.Attributes().Get("log.record.uid")
				out = fmt.Appendf(out, "%s\t%v\t%s\n", uid.Str(), r.Resource().Attributes().AsRaw(), l.Body().AsString())
			}
		}
	}
	_, err := s.file.Write(out)
	return err
}

type none struct{}

func newSink(context.Context, exporter.Settings, component.Config) (exporter.Logs, error) {
	f, err := os.OpenFile(os.Getenv("SINK"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return &sink{file: f}, err
}

func factories() (f otelcol.Factories, err error) {
	f.Telemetry = otelconftelemetry.NewFactory()
	sinkFactory := exporter.NewFactory(component.MustNewType("sink"), func() component.Config { return &none{} },
		exporter.WithLogs(newSink, component.StabilityLevelStable))
	if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory(), filelogreceiver.NewFactory()); err != nil {
		return
	}
	if f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](sinkFactory, otlphttpexporter.NewFactory()); err != nil {
		return
	}
	f.Extensions, err = otelcol.MakeFactoryMap[extension.Factory](filestorage.NewFactory())
	return
}

func main() {
	cmd := otelcol.NewCommand(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "col", Version: "1"}, Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), envprovider.NewFactory()},
		}},
	})
	if err := cmd.Execute(); err != nil {
		log.Fatal(err)
	}
}
