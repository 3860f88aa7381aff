package model

import "bytes"

// ReadEvents passes the events of a stream to a decoder until one is the last or wrong.
func ReadEvents(in []byte, d Decoder) {
	events := newEventReader(bytes.NewReader(in), 1<<20)
	for {
		name, data, err := events.next()
		if err != nil {
			return
		}
		if done, err := d.Event(name, data); done || err != nil {
			return
		}
	}
}
