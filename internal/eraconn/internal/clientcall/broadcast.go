package clientcall

import "github.com/tenon-mcp/tenon/mcp"

// Listeners returns the open calls that want a notification which does not say
// whose it is, if all of them belong to one principal. Otherwise it returns none,
// so that no principal receives the notifications of another.
func Listeners(open map[int64]*Open, wants func(*mcp.Call) bool) (all []*Open) {
	for _, o := range open {
		if !wants(o.Call) {
			continue
		}
		if len(all) > 0 && all[0].Call.Caller.Principal.Key() != o.Call.Caller.Principal.Key() {
			return nil
		}
		all = append(all, o)
	}
	return all
}

// PutAll puts a notification into all of them and reports whether there are any.
func PutAll(to []*Open, n mcp.Notification) bool {
	for _, o := range to {
		o.Put(n)
	}
	return len(to) > 0
}
