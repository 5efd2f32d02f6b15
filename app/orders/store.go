package orders

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// An Order is what the service knows about an order. A list has no lines and no
// refunds.
type Order struct {
	ID         string   `json:"id"`
	Customer   Customer `json:"customer"`
	OrderedOn  string   `json:"ordered_on"`
	Status     string   `json:"status"`
	Currency   string   `json:"currency"`
	Total      int64    `json:"total_cents"`
	Refunded   int64    `json:"refunded_cents"`
	Refundable int64    `json:"refundable_cents"`
	Lines      []Line   `json:"lines,omitempty"`
	Refunds    []Refund `json:"refunds,omitempty"`
}

// A Customer is a person who orders.
type Customer struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	City string `json:"city"`
}

// A Line is one product of an order.
type Line struct {
	Product  string `json:"product"`
	Quantity int64  `json:"quantity"`
	Price    int64  `json:"price_cents"`
}

// A Refund is money that went back to a customer.
type Refund struct {
	ID       string `json:"id"`
	Order    string `json:"order_id"`
	Amount   int64  `json:"amount_cents"`
	Currency string `json:"currency"`
	Reason   string `json:"reason"`
	At       string `json:"created_at"`
	Replayed bool   `json:"replayed,omitempty"`
}

const selectOrders = `SELECT p.id, p.ordered_on, p.status, c.id, c.name, c.city,
	(SELECT COALESCE(SUM(l.quantity * r.price_cents), 0) FROM purchase_line l JOIN product r ON r.id = l.product_id WHERE l.purchase_id = p.id),
	(SELECT COALESCE(SUM(amount_cents), 0) FROM refund WHERE purchase_id = p.id)
	FROM purchase p JOIN customer c ON c.id = p.customer_id`

// scan reads one row of selectOrders.
func (o *Order) scan(rows *sql.Rows) (id int64, err error) {
	err = rows.Scan(&id, &o.OrderedOn, &o.Status, &o.Customer.ID, &o.Customer.Name, &o.Customer.City, &o.Total, &o.Refunded)
	o.ID, o.Currency = identifier(id), "EUR"
	if o.Status != "open" && o.Status != "returned" {
		o.Refundable = o.Total - o.Refunded
	}
	return id, err
}

// queryer is a database or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// each calls f for every row.
func each(ctx context.Context, q queryer, query string, args []any, f func(*sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// order returns an order with its lines and refunds.
func (s *Service) order(ctx context.Context, q queryer, n int64) (*Order, error) {
	var o *Order
	err := each(ctx, q, selectOrders+` WHERE p.id = ?`, []any{n}, func(rows *sql.Rows) error {
		o = new(Order)
		_, err := o.scan(rows)
		return err
	})
	if err == nil && o == nil {
		err = failure(http.StatusNotFound, "order_not_found", "there is no order %s", identifier(n))
	}
	if err != nil {
		return nil, err
	}
	err = each(ctx, q, `SELECT r.name, l.quantity, r.price_cents FROM purchase_line l JOIN product r ON r.id = l.product_id WHERE l.purchase_id = ? ORDER BY r.name`, []any{n}, func(rows *sql.Rows) error {
		var l Line
		err := rows.Scan(&l.Product, &l.Quantity, &l.Price)
		o.Lines = append(o.Lines, l)
		return err
	})
	if err != nil {
		return nil, err
	}
	o.Refunds, err = refundsWhere(ctx, q, `purchase_id = ?`, n)
	return o, err
}

func refundsWhere(ctx context.Context, q queryer, where string, arg any) (all []Refund, err error) {
	err = each(ctx, q, `SELECT id, purchase_id, amount_cents, reason, created_at FROM refund WHERE `+where+` ORDER BY id`, []any{arg}, func(rows *sql.Rows) error {
		var r Refund
		var id, order int64
		err := rows.Scan(&id, &order, &r.Amount, &r.Reason, &r.At)
		r.ID, r.Order, r.Currency = "R-"+strconv.FormatInt(id, 10), identifier(order), "EUR"
		all = append(all, r)
		return err
	})
	return all, err
}

// addRefund refunds an amount, or all that is left if amount is nil, once for
// each key. again reports that an earlier request with the key did so.
func (s *Service) addRefund(ctx context.Context, n int64, key string, amount *int64, reason string) (out *Refund, again bool, err error) {
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		before, err := refundsWhere(ctx, tx, `idempotency_key = ?`, key)
		if err != nil {
			return err
		}
		if len(before) > 0 {
			out, again = &before[0], true
			if out.Order != identifier(n) || out.Reason != reason || amount != nil && *amount != out.Amount {
				return failure(http.StatusConflict, "idempotency_key_reused", "this Idempotency-Key was used for another refund")
			}
			return nil
		}
		o, err := s.order(ctx, tx, n)
		if err != nil {
			return err
		}
		cents := o.Refundable
		if amount != nil {
			cents = *amount
		}
		if err := mayRefund(o, cents); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO refund (purchase_id, amount_cents, reason, created_at, idempotency_key) VALUES (?, ?, ?, ?, ?)`,
			n, cents, reason, s.now().UTC().Format(time.RFC3339), key)
		if err != nil {
			return err
		}
		made, err := refundsWhere(ctx, tx, `idempotency_key = ?`, key)
		if err == nil {
			out = &made[0]
		}
		return err
	})
	return out, again, err
}

func mayRefund(o *Order, cents int64) error {
	var f *Failure
	switch {
	case o.Status == "open":
		f = failure(http.StatusConflict, "not_paid", "order %s is not paid, so there is nothing to refund", o.ID)
	case o.Status == "returned":
		f = failure(http.StatusConflict, "already_returned", "order %s was returned and its money is back already", o.ID)
	case o.Refundable == 0:
		f = failure(http.StatusConflict, "already_refunded", "order %s is refunded in full", o.ID)
	case cents <= 0:
		f = failure(http.StatusUnprocessableEntity, "invalid_amount", "amount_cents must be above 0")
	case cents > o.Refundable:
		f = failure(http.StatusUnprocessableEntity, "amount_exceeds_refundable", "at most %d cents of order %s can be refunded", o.Refundable, o.ID)
	default:
		return nil
	}
	f.Refundable = &o.Refundable
	return f
}

// A filter collects the conditions of a search.
type filter struct {
	where []string
	args  []any
}

func (f *filter) add(condition string, args ...any) {
	f.where, f.args = append(f.where, condition), append(f.args, args...)
}

func (f *filter) text() string {
	if len(f.where) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(f.where, " AND ")
}

// contains is the pattern of LIKE … ESCAPE '\' for texts that contain s.
func contains(s string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s) + "%"
}

// search lists orders, the newest first.
func (s *Service) search(r *http.Request) (int, any, error) {
	q := r.URL.Query()
	f, limit, err := searchFilter(q)
	if err != nil {
		return 0, nil, err
	}
	page := struct {
		Orders []Order `json:"orders"`
		Next   string  `json:"next_cursor,omitempty"`
	}{Orders: []Order{}}
	var last int64
	more := false
	err = each(r.Context(), s.db, selectOrders+f.text()+` ORDER BY p.id DESC LIMIT ?`, append(f.args, limit+1), func(rows *sql.Rows) error {
		var o Order
		id, err := o.scan(rows)
		if len(page.Orders) == limit {
			more = true
			return err
		}
		last = id
		page.Orders = append(page.Orders, o)
		return err
	})
	if more {
		page.Next = base64.RawURLEncoding.EncodeToString([]byte("before:" + strconv.FormatInt(last, 10)))
	}
	return http.StatusOK, page, err
}

func searchFilter(q url.Values) (f filter, limit int, err error) {
	limit, err = limitOf(q)
	if err != nil {
		return f, 0, err
	}
	if status := q.Get("status"); status != "" {
		if !strings.Contains(" open paid sent returned ", " "+status+" ") {
			return f, 0, failure(http.StatusBadRequest, "invalid_status", "status must be open, paid, sent or returned")
		}
		f.add(`p.status = ?`, status)
	}
	if c := q.Get("customer"); c != "" {
		f.add(`c.name LIKE ? ESCAPE '\'`, contains(c))
	}
	if text := q.Get("query"); text != "" {
		like := contains(text)
		f.add(`(c.name LIKE ? ESCAPE '\' OR c.city LIKE ? ESCAPE '\' OR EXISTS (SELECT 1 FROM purchase_line l JOIN product r ON r.id = l.product_id WHERE l.purchase_id = p.id AND r.name LIKE ? ESCAPE '\'))`, like, like, like)
	}
	for _, bound := range []struct{ name, operator string }{{"from", ">="}, {"to", "<="}} {
		day := q.Get(bound.name)
		if day == "" {
			continue
		}
		if _, err := time.Parse(time.DateOnly, day); err != nil {
			return f, 0, failure(http.StatusBadRequest, "invalid_date", "%s must be a date such as 2026-05-01", bound.name)
		}
		f.add(`p.ordered_on `+bound.operator+` ?`, day)
	}
	if cursor := q.Get("cursor"); cursor != "" {
		data, err := base64.RawURLEncoding.DecodeString(cursor)
		text, ok := strings.CutPrefix(string(data), "before:")
		n, err2 := strconv.ParseInt(text, 10, 64)
		if errors.Join(err, err2) != nil || !ok {
			return f, 0, failure(http.StatusBadRequest, "invalid_cursor", "cursor is not one that this service returned")
		}
		f.add(`p.id < ?`, n)
	}
	return f, limit, nil
}

func limitOf(q url.Values) (int, error) {
	text := q.Get("limit")
	if text == "" {
		return 20, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 100 {
		return 0, failure(http.StatusBadRequest, "invalid_limit", "limit must be 1 to 100")
	}
	return n, nil
}

func (s *Service) customers(r *http.Request) (int, any, error) {
	limit, err := limitOf(r.URL.Query())
	if err != nil {
		return 0, nil, err
	}
	all := []Customer{}
	err = each(r.Context(), s.db, `SELECT id, name, city FROM customer WHERE name LIKE ? ESCAPE '\' ORDER BY name LIMIT ?`,
		[]any{contains(r.URL.Query().Get("query")), limit}, func(rows *sql.Rows) error {
			var c Customer
			err := rows.Scan(&c.ID, &c.Name, &c.City)
			all = append(all, c)
			return err
		})
	return http.StatusOK, map[string]any{"customers": all}, err
}
