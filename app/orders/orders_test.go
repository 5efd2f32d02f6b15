package orders

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const key = "test-key"

func open(t *testing.T, file string) *Service {
	t.Helper()
	s, err := New(Config{Key: key, File: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// send sends a request with the API key and decodes the response into out.
func send(t *testing.T, s *Service, method, target, idempotency, body string, out any) int {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("X-Api-Key", key)
	if idempotency != "" {
		r.Header.Set("Idempotency-Key", idempotency)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
		t.Fatalf("%s %s: %d %s: %v", method, target, w.Code, w.Body, err)
	}
	return w.Code
}

type failed struct{ Error Failure }

func TestRequestsNeedTheKey(t *testing.T) {
	s := open(t, "")
	for _, header := range []http.Header{{}, {"X-Api-Key": {"wrong"}}, {"Authorization": {"Bearer wrong"}}} {
		for _, path := range []string{"/v1/orders", "/v1/orders/T-0001", "/v1/customers", "/other"} {
			r := httptest.NewRequest("GET", path, nil)
			r.Header = header
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != http.StatusUnauthorized {
				t.Errorf("%s with %v: %d", path, header, w.Code)
			}
		}
	}
	r := httptest.NewRequest("GET", "/v1/orders/T-0001", nil)
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Errorf("with a bearer token: %d %s", w.Code, w.Body)
	}
}

func TestSearchPagesThroughEveryOrderOnce(t *testing.T) {
	s := open(t, "")
	type page struct {
		Orders []Order
		Next   string `json:"next_cursor"`
	}
	seen := map[string]bool{}
	cursor := ""
	for {
		var p page
		if code := send(t, s, "GET", "/v1/orders?limit=37&cursor="+url.QueryEscape(cursor), "", "", &p); code != http.StatusOK {
			t.Fatal(code)
		}
		for _, o := range p.Orders {
			if seen[o.ID] || o.Total <= 0 {
				t.Errorf("%+v is there twice or costs nothing", o)
			}
			seen[o.ID] = true
		}
		if cursor = p.Next; cursor == "" {
			break
		}
	}
	if len(seen) != 480 {
		t.Errorf("%d orders", len(seen))
	}
	var p page
	send(t, s, "GET", "/v1/orders?status=sent&customer=a&query=tea&from=2026-01-01&to=2026-06-30&limit=100", "", "", &p)
	if len(p.Orders) == 0 {
		t.Error("no order for all filters")
	}
	for _, o := range p.Orders {
		if o.Status != "sent" || o.OrderedOn < "2026-01-01" || o.OrderedOn > "2026-06-30" || !strings.Contains(strings.ToLower(o.Customer.Name), "a") {
			t.Errorf("%+v does not fit the filters", o)
		}
	}
	for query, code := range map[string]string{"limit=0": "invalid_limit", "cursor=x": "invalid_cursor", "from=monday": "invalid_date", "status=lost": "invalid_status"} {
		var f failed
		if send(t, s, "GET", "/v1/orders?"+query, "", "", &f); f.Error.Code != code {
			t.Errorf("%s: %+v", query, f)
		}
	}
}

func TestRefundWithOneKeyActsOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "orders.db")
	s := open(t, file)
	var before, after Order
	send(t, s, "GET", "/v1/orders/T-0042", "", "", &before)
	body := `{"amount_cents":150,"reason":"broken cup"}`
	var group sync.WaitGroup
	codes := make([]int, 8)
	for i := range codes {
		group.Go(func() {
			var r Refund
			codes[i] = send(t, s, "POST", "/v1/orders/T-0042/refunds", "k1", body, &r)
		})
	}
	group.Wait()
	if got := fmt.Sprint(codes); strings.Count(got, "201") != 1 || strings.Count(got, "200") != 7 {
		t.Errorf("statuses %v", got)
	}
	s.Close()
	s = open(t, file) // the key is remembered
	var again Refund
	if code := send(t, s, "POST", "/v1/orders/T-0042/refunds", "k1", body, &again); code != http.StatusOK || !again.Replayed {
		t.Errorf("%d %+v", code, again)
	}
	send(t, s, "GET", "/v1/orders/T-0042", "", "", &after)
	if len(after.Refunds) != 1 || after.Refundable != before.Refundable-150 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	var f failed
	if code := send(t, s, "POST", "/v1/orders/T-0042/refunds", "k1", `{"amount_cents":151,"reason":"broken cup"}`, &f); code != http.StatusConflict || f.Error.Code != "idempotency_key_reused" {
		t.Errorf("%d %+v", code, f)
	}
}

func TestRefundIsRefused(t *testing.T) {
	s := open(t, "")
	for name, c := range map[string]struct{ path, key, body, code string }{
		"beyond the amount": {"T-0042", "a", `{"amount_cents":99999999,"reason":"r"}`, "amount_exceeds_refundable"},
		"without a key":     {"T-0042", "", `{"amount_cents":1,"reason":"r"}`, "idempotency_key_required"},
		"without a reason":  {"T-0042", "b", `{"amount_cents":1}`, "invalid_reason"},
		"nothing":           {"T-0042", "c", `{"amount_cents":0,"reason":"r"}`, "invalid_amount"},
		"not an object":     {"T-0042", "d", `[]`, "invalid_body"},
		"open":              {"T-0475", "e", `{"reason":"r"}`, "not_paid"},
		"returned":          {"T-0029", "f", `{"reason":"r"}`, "already_returned"},
		"unknown":           {"T-9999", "g", `{"reason":"r"}`, "order_not_found"},
		"no number":         {"x", "h", `{"reason":"r"}`, "order_not_found"},
	} {
		var f failed
		if code := send(t, s, "POST", "/v1/orders/"+c.path+"/refunds", c.key, c.body, &f); f.Error.Code != c.code || code < 400 || code > 499 {
			t.Errorf("%s: %d %+v", name, code, f)
		}
	}
	var r Refund
	if code := send(t, s, "POST", "/v1/orders/T-0042/refunds", "all", `{"reason":"r"}`, &r); code != http.StatusCreated {
		t.Fatal(code)
	}
	var f failed
	if send(t, s, "POST", "/v1/orders/T-0042/refunds", "more", `{"amount_cents":1,"reason":"r"}`, &f); f.Error.Code != "already_refunded" || f.Error.Refundable == nil {
		t.Errorf("%+v", f)
	}
}
