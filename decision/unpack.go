package decision

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// unpack returns a reader of what a compressed stream contains, and a function that ends reading. Its first
// bytes say how it is compressed; if it is not, unpack returns no reader. Zstandard needs the program zstd,
// because a library for it would cost each start of hook.
func unpack(packed *bufio.Reader) (in io.Reader, end func() error, err error) {
	end = func() error { return nil }
	start, _ := packed.Peek(4) // a shorter stream is not compressed, and its reader meets the error again
	switch {
	case bytes.HasPrefix(start, []byte("\x1f\x8b")):
		in, err = gzip.NewReader(packed)
	case bytes.Equal(start, []byte("\x28\xb5\x2f\xfd")):
		in, end, err = runZstd(packed)
	}
	return in, end, err
}

// runZstd starts zstd.
func runZstd(packed io.Reader) (in io.Reader, end func() error, err error) {
	cmd := exec.Command("zstd", "-dc")
	cmd.Stdin, cmd.WaitDelay = packed, time.Second // if nobody wants the rest, packed may wait for more
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("a file of Zstandard needs the program zstd: %w", err)
	}
	return out, func() error {
		out.Close() // zstd ends if nobody wants the rest
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("zstd: %w, want a whole file of Zstandard", err)
		}
		return nil
	}, nil
}
