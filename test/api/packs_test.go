package api

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/builtin/api/packs"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestGitHubPack(t *testing.T) {
	t.Parallel()
	at := strings.Replace(github(t), "127.0.0.1", "localhost", 1)
	c := pack(t, "github", at)
	repo := func(more object) object {
		o := object{"owner": "admin", "repo": "tea"}
		for k, v := range more {
			o[k] = v
		}
		return o
	}
	want(t, c, "get_me", nil, "admin")
	want(t, c, "get_repository", repo(nil), "admin/tea")
	want(t, c, "search_repositories", object{"query": "tea user:admin"}, "admin/tea")
	want(t, c, "search_issues", object{"query": "repo:admin/tea is:issue tea"}, "admin/tea#")
	want(t, c, "search_code", object{"query": "water repo:admin/tea"}, "docs/guide.md")

	all := want(t, c, "list_issues", repo(object{"limit": 30}), "about tea")
	if len(items(all)) != 30 {
		t.Errorf("%d issues, want 30", len(items(all)))
	}
	next, _ := all.value.(object)["next_cursor"].(string)
	rest := want(t, c, "list_issues", repo(object{"limit": 30, "cursor": next}))
	if n := len(items(rest)); n != 5 {
		t.Errorf("%d further issues, want 5", n)
	}

	made := want(t, c, "create_issue", repo(object{"title": "Kettle <leaks>", "body": "It drips & drops.", "labels": []string{"bug"}}), "Created issue #")
	number := made.value.(object)["number"]
	want(t, c, "get_issue", repo(object{"number": number}), "It drips & drops.")
	want(t, c, "add_comment", repo(object{"number": number, "body": "Mine, too."}), "Commented")
	want(t, c, "list_comments", repo(object{"number": number}), "Mine, too.")
	want(t, c, "update_issue", repo(object{"number": number, "state": "closed"}), "closed")
	refused(t, c, "get_issue", repo(object{"number": 9999}), "Not found", "owner")

	want(t, c, "list_pulls", repo(nil), "Add a file", "feature → main")
	pulls := want(t, c, "list_pulls", repo(nil))
	pull := items(pulls)[0].(object)["number"]
	want(t, c, "get_pull", repo(object{"number": pull}), "It is new.")
	want(t, c, "list_pull_files", repo(object{"number": pull}))
	want(t, c, "submit_review", repo(object{"number": pull, "event": "COMMENT", "body": "Looks fine."}))
	want(t, c, "list_reviews", repo(object{"number": pull}), "Looks fine.")
	want(t, c, "merge_pull", repo(object{"number": pull}), "true")

	want(t, c, "get_file", repo(object{"path": "docs/guide.md"}), "# Guide\n\nBoil water.\n")
	want(t, c, "get_file", repo(object{"path": "docs"}), "guide.md")
	refused(t, c, "get_file", repo(object{"path": "../../other/secrets"}), "path")
	want(t, c, "write_file", repo(object{"path": "docs/más.md", "content": "¿Qué?\n", "message": "add"}))
	want(t, c, "write_file", repo(object{"path": "docs/tea.svg", "file": "tea.svg", "message": "add"}))
	want(t, c, "get_file", repo(object{"path": "docs/tea.svg"}), "<svg xmlns")
	refused(t, c, "write_file", repo(object{"path": "a", "file": "/etc/passwd", "message": "add"}), "outside")
	long := strings.Repeat("A line of a long file.\n", 20_000) // jq in the square of it would take minutes
	want(t, c, "write_file", repo(object{"path": "docs/long.txt", "content": long, "message": "add"}))
	want(t, c, "get_file", repo(object{"path": "docs/long.txt"}), "A line of a long file.")
	want(t, c, "get_file", repo(object{"path": "docs/más.md"}), "¿Qué?")
	want(t, c, "list_commits", repo(nil), "add")
	want(t, c, "list_runs", repo(nil))
	want(t, c, "create_release", repo(object{"tag": "v1.0.0", "notes": "First.", "draft": false}), "v1.0.0")
	want(t, c, "list_releases", repo(nil), "v1.0.0")

	file, err := c.ReadResource(t.Context(), "github://admin/tea/files/docs/guide.md")
	if err != nil || !strings.Contains(file.Contents[0].Text, "Boil water") {
		t.Errorf("%+v, %v", file, err)
	}
	p, err := c.GetPrompt(t.Context(), "issue_report_prompt", map[string]string{"owner": "admin", "repo": "tea", "problem": "The lid is loose."})
	if err != nil || !strings.Contains(prompted(p), "The lid is loose.") || !strings.Contains(prompted(p), "about tea") {
		t.Errorf("%+v, %v", p, err)
	}
	complete(t, c, "issue_report_prompt", "owner", "adm", nil, "admin")
	complete(t, c, "issue_report_prompt", "repo", "te", map[string]string{"owner": "admin"}, "tea")
}

func prompted(p *mcp.GetPromptResult) string {
	if p == nil || len(p.Messages) == 0 {
		return ""
	}
	text, _ := p.Messages[0].Content.(*mcp.TextContent)
	if text == nil {
		return ""
	}
	return text.Text
}

func complete(t *testing.T, c *client.Client, prompt, argument, value string, others map[string]string, want string) {
	t.Helper()
	p := mcp.CompleteParams{Ref: mcp.PromptRef(prompt), Argument: mcp.CompletionArgument{Name: argument, Value: value}}
	if others != nil {
		p.Context = &mcp.CompletionContext{Arguments: others}
	}
	got, err := c.Complete(t.Context(), p)
	if err != nil || !strings.Contains(strings.Join(got.Values, " "), want) {
		t.Errorf("%s %s=%s: %+v, %v", prompt, argument, value, got, err)
	}
}

func TestSlackPack(t *testing.T) {
	t.Parallel()
	at, channel := slack(t)
	at = strings.Replace(at, "127.0.0.1", "localhost", 1) // as the emulator calls itself
	c := pack(t, "slack", at+"/api", atEmulator(at)...)
	want(t, c, "list_channels", nil, channel, "#general")
	if only := want(t, c, "list_channels", object{"name": "#GENER"}); len(items(only)) != 1 {
		t.Errorf("%v", only.value)
	}
	first := want(t, c, "read_channel", object{"channel": channel, "limit": 5}, "Message 12")
	if n := len(items(first)); n != 5 {
		t.Errorf("%d messages, want 5", n)
	}
	next, _ := first.value.(object)["next_cursor"].(string)
	want(t, c, "read_channel", object{"channel": channel, "limit": 5, "cursor": next}, "Message 7")
	posted := want(t, c, "post_message", object{"channel": channel, "text": "Hello & <goodbye>"}, "Posted")
	ts := posted.value.(object)["ts"]
	want(t, c, "post_message", object{"channel": channel, "text": "A reply", "thread_ts": ts})
	want(t, c, "read_thread", object{"channel": channel, "ts": ts}, "A reply")
	want(t, c, "add_reaction", object{"channel": channel, "ts": ts, "name": "thumbsup"}, "Added")
	refused(t, c, "add_reaction", object{"channel": channel, "ts": ts, "name": "thumbsup"}, "already")
	refused(t, c, "read_channel", object{"channel": "C0NONE"}, "list_channels")
	people := want(t, c, "list_users", nil, "admin")
	id := items(people)[0].(object)["id"]
	want(t, c, "get_users", object{"ids": []any{id, "U0NONE"}}, "admin")
	want(t, c, "upload_file", object{"channel": channel, "name": "report.md", "content": "# Tea\n", "comment": "see this"})
	files := want(t, c, "list_files", object{"channel": channel}, "report.md")
	want(t, c, "read_file", object{"id": items(files)[0].(object)["id"]}, "# Tea\n")
	refused(t, c, "read_file", object{"id": "F0NONE"}, "list_files")
	want(t, c, "upload_file", object{"channel": channel, "file": "tea.svg"})
	files = want(t, c, "list_files", object{"channel": channel}, "tea.svg")
	for _, one := range items(files) {
		if one := one.(object); one["name"] == "tea.svg" || one["title"] == "tea.svg" {
			want(t, c, "read_file", object{"id": one["id"]}, "<svg xmlns")
		}
	}
	refused(t, c, "upload_file", object{"channel": channel, "file": "../kit_test.go"}, "..")
	refused(t, c, "upload_file", object{"channel": channel, "file": "/etc/passwd"}, "outside")
	if tools := names(t, c); strings.Contains(tools, "search_messages") {
		t.Errorf("a bot token cannot search: %s", tools)
	}
	complete(t, c, "summarize_channel_prompt", "channel", "C0", nil, channel)
}

func TestOneNotePack(t *testing.T) {
	t.Parallel()
	at, g := graphServer(t)
	c := pack(t, "onenote", at+"/v1.0")
	want(t, c, "list_notebooks", nil, "Home", "Recipes", "1-sec3")
	want(t, c, "list_sections", object{"notebook_id": "1-nb1"}, "Garden")
	pages := want(t, c, "list_pages", object{"section_id": "1-sec3", "limit": 10}, "Catalogue meeting")
	if n := len(items(pages)); n != 10 {
		t.Errorf("%d pages, want 10", n)
	}
	want(t, c, "recent_pages", nil, "Catalogue meeting", "Meetings")
	want(t, c, "search_pages", object{"query": "CATALOGUE"}, "1-page46")
	want(t, c, "search_pages", object{"query": "o'clock"}, "No page")
	want(t, c, "extract_page", object{"page_id": "1-page46"}, "# Decisions", "**200**", "[x] Ask the printer", "[ ] Order paper", "- Sencha", "| Sencha | 12", "plan.pdf")
	made := want(t, c, "create_page", object{"section_id": "1-sec1", "title": "Tea & <cake>", "text": "# Plan\n\nBuy tea.\n- one\n- two\n- [ ] ask"}, "Created the page")
	id := made.value.(object)["id"].(string)
	if html := g.html[id]; !strings.Contains(html, "<h1>Plan</h1><p>Buy tea.</p><ul><li>one</li><li>two</li></ul><p data-tag=\"to-do\">ask</p>") || !strings.Contains(html, "Tea &amp; &lt;cake&gt;") {
		t.Errorf("the page is %s", html)
	}
	want(t, c, "append_to_page", object{"page_id": id, "text": "More\n<script>"}, "Appended")
	if html := g.html[id]; !strings.Contains(html, "<p>More<br/>&lt;script&gt;</p>") {
		t.Errorf("the page is %s", html)
	}
	refused(t, c, "extract_page", object{"page_id": "none"}, "no such")
	page, err := c.ReadResource(t.Context(), "onenote://pages/1-page46")
	if err != nil || !strings.Contains(page.Contents[0].Text, "# Decisions") {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestOrdersPack(t *testing.T) {
	t.Parallel()
	c := pack(t, "orders", orderService(t)+"/v1")
	want(t, c, "search_orders", object{"status": "sent", "limit": 3}, "EUR")
	want(t, c, "get_order", object{"order_id": "T-0042"}, "T-0042")
	want(t, c, "process_refund", object{"order_id": "T-0042", "amount": 1.5, "reason": "broken cup"}, "Refunded 1.5 EUR")
	order := want(t, c, "get_order", object{"order_id": "T-0042"})
	if refunds := order.value.(object)["refunds"].([]any); len(refunds) != 1 {
		t.Errorf("%v", refunds)
	}
	refused(t, c, "process_refund", object{"order_id": "T-0042", "amount": 99999, "reason": "too much"}, "can be refunded")
	refused(t, c, "process_refund", object{"order_id": "T-0475", "reason": "not paid yet"}, "not paid")
	want(t, c, "process_refund", object{"order_id": "T-0042", "reason": "all of it"}, "Refunded")
	complete(t, c, "refund_request_prompt", "order_id", "T-", nil, "T-0")
}

func names(t *testing.T, c *client.Client) string {
	t.Helper()
	var all []string
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tool.Name)
	}
	return strings.Join(all, " ")
}

// A list of tools is part of each conversation with a model: 32 KB are about
// 8,000 tokens.
func TestListsOfToolsAreSmall(t *testing.T) {
	for _, name := range packs.Names() {
		c := pack(t, name, "http://127.0.0.1:1")
		count, size := listed(t, c)
		t.Logf("%s: %d tools, %d bytes", name, count, size)
		if size > 32<<10 || count == 0 {
			t.Errorf("%s: %d tools in %d bytes", name, count, size)
		}
	}
}
