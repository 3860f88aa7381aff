package main

import "fmt"

// noConversion compares what a hook costs that names messages and tools and reads
// neither, while the messages grow. Nothing must change: not by one allocation, not
// by one byte.
func noConversion(r *rig) error {
	set, err := r.load("unread", map[string]string{"unread": `
register_hook("pre_llm_call", lambda messages, tools: None)
`})
	if err != nil {
		return err
	}
	least, leastBytes, err := cost(fired(set.Host, beforeRequest(conversation(5, 1<<10))))
	if err != nil {
		return err
	}
	for _, big := range []struct{ messages, bytes int }{{5, 1 << 20}, {500, 1 << 20}} {
		allocs, bytes, err := cost(fired(set.Host, beforeRequest(conversation(big.messages, big.bytes))))
		if err != nil {
			return err
		}
		what := fmt.Sprintf("messages unread, %d of 1 MiB in all against 5 of 1 KiB", big.messages)
		r.figure(claim{"G3", what, atMost(0).of("allocs more")}, allocs-least)
		r.figure(claim{"G3", what, atMost(0).of("B more")}, bytes-leastBytes)
	}
	return nil
}
