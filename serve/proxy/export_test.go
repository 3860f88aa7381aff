package proxy

import "time"

// SetReplies sets the counter of bytes of replies in open requests, and returns its old value.
func (s *Server) SetReplies(n int64) int64 { return s.replies.Swap(n) }

// SetUnpacked sets the counter of bytes of compressed bodies in open requests, and returns its old value.
func (s *Server) SetUnpacked(n int64) int64 { return s.unpacked.Swap(n) }

// SetPing sets the time between two signs of life.
func (s *Server) SetPing(d time.Duration) { s.ping = d }
