package proxy

import "time"

// SetPing changes the time between two signs of life.
func (s *Server) SetPing(d time.Duration) { s.ping = d }
