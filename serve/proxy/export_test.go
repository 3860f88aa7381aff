package proxy

import "time"

// SetReplies changes the bytes of replies in open requests, and returns the old number.
func (s *Server) SetReplies(n int64) int64 { return s.replies.Swap(n) }

// SetUnpacked changes the bytes of compressed bodies in open requests, and returns the old number.
func (s *Server) SetUnpacked(n int64) int64 { return s.unpacked.Swap(n) }

// SetPing changes the time between two signs of life.
func (s *Server) SetPing(d time.Duration) { s.ping = d }
