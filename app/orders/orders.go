// Package orders is a small order service: a JSON API with an API key over a
// SQLite database of a tea shop. It gives examples and tests an API to wrap that
// needs no network.
//
//	GET  /v1/orders?status=&customer=&query=&from=&to=&limit=&cursor=
//	GET  /v1/orders/{id}
//	POST /v1/orders/{id}/refunds   with the header Idempotency-Key
//	GET  /v1/customers?query=&limit=
//	GET  /healthz                  without a key
//
// Amounts are cents of euros. An error is {"error":{"code","message"}}.
package orders

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/app/sample"
	_ "modernc.org/sqlite" // holds the orders
)

// Config configures the service.
type Config struct {
	// Key is the API key that requests send in the header X-Api-Key or as a
	// bearer token. It is required.
	Key string

	// File is the SQLite file, created with sample data if it does not exist.
	// Empty means in memory.
	File string

	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// A Service is the order service. It is an [http.Handler].
type Service struct {
	http.Handler
	db  *sql.DB
	key [sha256.Size]byte
	now func() time.Time
}

const refunds = `CREATE TABLE IF NOT EXISTS refund (
	id INTEGER PRIMARY KEY,
	purchase_id INTEGER NOT NULL REFERENCES purchase (id),
	amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
	reason TEXT NOT NULL,
	created_at TEXT NOT NULL,
	idempotency_key TEXT NOT NULL UNIQUE)`

// New opens the database and returns the service. The caller closes it.
func New(c Config) (*Service, error) {
	if c.Key == "" {
		return nil, errors.New("the order service needs an API key")
	}
	db, err := openDatabase(c.File)
	if err != nil {
		return nil, fmt.Errorf("open the database of the order service: %w", err)
	}
	s := &Service{db: db, key: sha256.Sum256([]byte(c.Key)), now: c.Now}
	if s.now == nil {
		s.now = time.Now
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, map[string]bool{"ok": true}) })
	mux.HandleFunc("GET /v1/orders", s.guarded(s.search))
	mux.HandleFunc("GET /v1/orders/{id}", s.guarded(s.get))
	mux.HandleFunc("POST /v1/orders/{id}/refunds", s.guarded(s.refund))
	mux.HandleFunc("GET /v1/customers", s.guarded(s.customers))
	mux.HandleFunc("/", s.guarded(func(*http.Request) (int, any, error) {
		return 0, nil, failure(http.StatusNotFound, "not_found", "there is nothing at this path")
	}))
	s.Handler = mux
	return s, nil
}

// Close closes the database.
func (s *Service) Close() error { return s.db.Close() }

func openDatabase(file string) (*sql.DB, error) {
	dsn := ":memory:"
	if file != "" {
		dsn = (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath(), RawQuery: "_pragma=busy_timeout(5000)"}).String()
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // statements of two requests never meet, and a database in memory is one connection
	var tables int
	err = db.QueryRow(`SELECT COUNT(*) FROM sqlite_schema WHERE name = 'purchase'`).Scan(&tables)
	if err == nil && tables == 0 {
		_, err = db.Exec(sample.ShopScript())
	}
	if err == nil {
		_, err = db.Exec(refunds)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// A Failure is an error that the client of the service gets.
type Failure struct {
	Status     int    `json:"-"`
	Code       string `json:"code"`
	Message    string `json:"message"`
	Refundable *int64 `json:"refundable_cents,omitempty"`
}

func (f *Failure) Error() string { return f.Message }

func failure(status int, code, format string, args ...any) *Failure {
	return &Failure{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// guarded checks the API key and writes the result of f.
func (s *Service) guarded(f func(*http.Request) (int, any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
		status, body, err := 0, any(nil), s.authorize(r)
		if err == nil {
			status, body, err = f(r)
		}
		if err == nil {
			reply(w, status, body)
			return
		}
		known, ok := errors.AsType[*Failure](err)
		if !ok {
			known = failure(http.StatusInternalServerError, "internal", "the service failed; try again later")
		}
		reply(w, known.Status, map[string]*Failure{"error": known})
	}
}

func (s *Service) authorize(r *http.Request) error {
	key := r.Header.Get("X-Api-Key")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		key = bearer
	}
	sum := sha256.Sum256([]byte(key))
	if subtle.ConstantTimeCompare(sum[:], s.key[:]) != 1 {
		return failure(http.StatusUnauthorized, "unauthorized", "the API key is missing or wrong")
	}
	return nil
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	data, err := json.Marshal(body)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"the service failed"}}`)
	}
	w.WriteHeader(status)
	w.Write(append(data, '\n'))
}

// number returns the number of an order such as T-0042.
func number(id string) (int64, error) {
	digits, ok := strings.CutPrefix(strings.ToUpper(id), "T-")
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n < 1 {
		return 0, failure(http.StatusNotFound, "order_not_found", "there is no order %q; the id of an order looks like T-0042", id)
	}
	return n, nil
}

func identifier(n int64) string { return fmt.Sprintf("T-%04d", n) }

func (s *Service) get(r *http.Request) (int, any, error) {
	n, err := number(r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	o, err := s.order(r.Context(), s.db, n)
	return http.StatusOK, o, err
}

func (s *Service) refund(r *http.Request) (int, any, error) {
	n, err := number(r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	key := r.Header.Get("Idempotency-Key")
	if key == "" || len(key) > 200 {
		return 0, nil, failure(http.StatusBadRequest, "idempotency_key_required", "send the header Idempotency-Key, at most 200 characters, so that a repeated request refunds once")
	}
	var in struct {
		Amount *int64 `json:"amount_cents"`
		Reason string `json:"reason"`
	}
	err = json.UnmarshalRead(r.Body, &in)
	switch {
	case err != nil:
		return 0, nil, failure(http.StatusBadRequest, "invalid_body", "the body must be an object with amount_cents and reason")
	case strings.TrimSpace(in.Reason) == "" || len(in.Reason) > 500:
		return 0, nil, failure(http.StatusUnprocessableEntity, "invalid_reason", "reason must have 1 to 500 characters")
	}
	out, again, err := s.addRefund(r.Context(), n, key, in.Amount, in.Reason)
	if err != nil {
		return 0, nil, err
	}
	out.Replayed = again
	if again {
		return http.StatusOK, out, nil
	}
	return http.StatusCreated, out, nil
}

// inTransaction runs f in a transaction that it commits unless f fails.
func (s *Service) inTransaction(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
