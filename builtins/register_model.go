package builtins

import (
	"errors"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
)

// registerModel implements register_model.
func registerModel(c call.Call) (starlark.Value, error) {
	var (
		e               starhost.Endpoint
		models, aliases stringOrList
		fallback        stringOrList
		headers         *starlark.Dict
	)
	err := c.Bind("name", &e.Name, "base_url", &e.BaseURL, "models", &models, "api?", &e.API, "api_key??", &e.APIKey,
		"aliases??", &aliases, "headers??", &headers, "default_model??", &e.DefaultModel,
		"context?", &e.Context, "fallback??", &fallback)
	if err != nil {
		return nil, err
	}
	r, err := startRegistration(c, listArg{"models", models}, listArg{"aliases", aliases}, listArg{"fallback", fallback})
	if err != nil {
		return nil, err
	}
	if e.Headers, err = stringParameters(c, "headers", headers); err != nil {
		return nil, err
	}
	for _, name := range append([]string{e.Name}, aliases...) {
		if e.Pos, err = claimName(c, r, "model", name); err != nil {
			return nil, err
		}
	}
	e.Models, e.Aliases, e.Fallback = models, aliases, fallback
	refused := new(effects.PermissionError)
	switch err := r.world.CheckEndpoint(e.BaseURL, e.APIKey); {
	case errors.As(err, &refused):
		e.Unavailable = refused.Error()
	case err != nil:
		return nil, c.Fail("E0202", "base_url: %v", err)
	}
	r.plugin.Endpoints = append(r.plugin.Endpoints, e)
	return starlark.None, c.Pay(10, 1024)
}
