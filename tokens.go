package starhost

// AboutTokens estimates how many tokens a model makes of a text: a quarter of
// its bytes. Reports that use it say "about".
func AboutTokens(text string) int64 { return int64(len(text) / 4) }
