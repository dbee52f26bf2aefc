package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// errRejected says that the provider will not have it, however often it is asked.
var errRejected = errors.New("rejected")

// notNow are refusals that do not say "never".
var notNow = []int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}

type wanted struct {
	UID     string `json:"uid"`
	CIDR    string `json:"cidr"`
	Gateway string `json:"gateway"`
}

type provided struct {
	ID      string `json:"id"`
	CIDR    string `json:"cidr"`
	Gateway string `json:"gateway"`
}

// provider talks to the provider; a network there is found by the uid of its object, whatever its name.
type provider struct {
	url    string
	client http.Client
}

func newProvider(base string) *provider {
	return &provider{url: base + "/v2.0/networks", client: http.Client{Timeout: 10 * time.Second}}
}

// find gives the network that was made for an object, or nil.
func (p *provider) find(ctx context.Context, uid string) (*provided, error) {
	var found struct {
		Networks []provided `json:"networks"`
	}
	if err := p.call(ctx, http.MethodGet, "?uid="+url.QueryEscape(uid), nil, "", &found); err != nil {
		return nil, err
	}
	if len(found.Networks) == 0 {
		return nil, nil
	}
	return &found.Networks[0], nil
}

// create makes a network; asking twice makes one.
func (p *provider) create(ctx context.Context, want wanted) (*provided, error) {
	made := new(provided)
	return made, p.call(ctx, http.MethodPost, "", &want, want.UID, made)
}

func (p *provider) update(ctx context.Context, id string, want wanted) (*provided, error) {
	made := new(provided)
	return made, p.call(ctx, http.MethodPut, "/"+id, &want, "", made)
}

// delete deletes a network; one that is gone is fine.
func (p *provider) delete(ctx context.Context, id string) error {
	return p.call(ctx, http.MethodDelete, "/"+id, nil, "", nil)
}

func (p *provider) call(ctx context.Context, method, path string, body *wanted, key string, into any) error {
	var sent io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, p.url+path, sent)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	answer, err := p.client.Do(request)
	if err != nil {
		return fmt.Errorf("the provider does not answer: %w", err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("the provider does not answer: %w", err)
	}
	switch status := answer.StatusCode; {
	case status == http.StatusNotFound && method == http.MethodDelete:
		return nil
	case status >= 200 && status < 300:
		if into == nil {
			return nil
		}
		return json.Unmarshal(said, into)
	case status >= 400 && status < 500 && !slices.Contains(notNow, status):
		return fmt.Errorf("%w: %s", errRejected, strings.TrimSpace(string(said)))
	default:
		return fmt.Errorf("the provider answered %d: %s", status, strings.TrimSpace(string(said)))
	}
}
