package lint

// Warnings returns the names of all warnings.
func Warnings() (names []string) {
	for _, c := range checks {
		names = append(names, c.warning)
	}
	return names
}
