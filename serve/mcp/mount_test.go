package mcp_test

func mounted() {}
